/* Test every rule of section THE NORMAL FORM in include/sett_indexing_map.h. First the law behind a rule is tested for
 * all small numbers, in plain arithmetic that shares no code with the header. Then the rule is tested on maps that only
 * this rule simplifies. Each has a neighbour in the table that just misses the rule's condition and must not change.
 *
 * Run: indexing_map_rules_test [HEADER [DISTANCE]]. The program also checks that the manual in HEADER (default:
 * include/sett_indexing_map.h) has the same rules as this file. If DISTANCE is d (default: 1), a map and its simple form
 * are compared at every d-th point of their box. */
#include "../../include/sett_indexing_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define RULES(X) \
  X(R0) X(R1) X(R2) X(R3) X(R4) X(R6) X(R7) X(R8) X(R9) X(R11) X(R12) X(R13) X(R14) \
  X(N1) X(N2) X(N3) X(N4) X(N5) X(N6) X(N7) \
  X(I1) X(I2) X(I3) X(I4) X(I5) X(I6) X(I7) \
  X(C1) X(C2) X(C3) X(C4) X(C5) X(C6) X(C7) X(C8) X(C9) \
  X(M1) X(S1) X(S2) X(S3) X(S4) \
  X(P1) X(P2) X(P3) X(P4) X(P5) X(P6) X(P7) X(P8) X(P9) X(P10) X(P11) X(P12) X(P13) \
  X(X1) X(X2) X(X3) X(X4)
/* clang-format on */
#define RULE_ENUM(name) name,
#define RULE_TEXT(name) #name,
enum { RULES(RULE_ENUM) RULE_COUNT };
static const char *const names[] = {RULES(RULE_TEXT)};
/* For each rule: cases[] counts the cases in which the premise of its law holds, broken[] those in which the law fails,
 * maps[] the rows of the table. */
static int cases[RULE_COUNT], broken[RULE_COUNT], maps[RULE_COUNT];
static int failures;

/* ---- laws ---- */

#define EACH(x, lo, hi) for (int64_t x = (lo); x <= (hi); ++x)
#define EACH_DIVISOR(g, c) \
  EACH(g, 1, c)            \
    if ((c) % g == 0)

static void law(int rule, int premise, int conclusion) {
  cases[rule] += premise;
  broken[rule] += premise && !conclusion;
}

static int within(int64_t x, int64_t lo, int64_t hi) { return lo <= x && x <= hi; }

static int64_t Q(int64_t x, int64_t c) { /* Return the maximum q with c * q <= x. */
  int64_t q = x / c;
  return q * c > x ? q - 1 : q;
}

static int64_t ceiling(int64_t x, int64_t c) { /* Return the minimum q with c * q >= x. */
  int64_t q = x / c;
  return q * c < x ? q + 1 : q;
}

/* Return the number in 0 .. m - 1 that differs from x by a multiple of m. */
static int64_t residue(int64_t x, int64_t m) {
  int64_t r = 0;
  while ((x - r) % m) ++r;
  return r;
}

static int64_t gcd(int64_t a, int64_t b) { /* the greatest common divisor of |a| and |b| */
  int64_t g = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? (a < 0 ? -a : a) : b < 0 ? -b : b;
  while (g > 1 && (a % g || b % g)) --g;
  return g;
}

static void quotients(void) {
  EACH(c, 1, 12) {
    EACH(b, -60, 60) { /* b stands for the value of any expression */
      int64_t near = 0, v = Q(b, c);
      EACH(a, -60, 60) near += 2 * (b - c * a) > -c && 2 * (b - c * a) <= c;
      law(R1, 1, near == 1);
      EACH(a, -7, 7) law(R1, 1, Q(c * a + b, c) == a + v);
      EACH(u, -7, 7) law(R2, within(b, c * u, c * u + c - 1), v == u);
      EACH(x, -20, 20)
        for (int k = -1; k <= 1; k += 2)
          EACH(u, -7, 7) law(R4, within(b + k * c * x, c * u, c * u + c - 1), v == u - k * x);
      law(R6, 1, v == -Q(c - 1 - b, c));
      law(R9, c % 2 == 0, c % 2 || v + Q(b + c / 2, c) == Q(b, c / 2));
      EACH(a, -20, 20) {
        int64_t q = v - a; /* both q and -q are quotients by c */
        law(R11, 1, q == Q(b - c * a, c) && -q == Q(c * a - b + c - 1, c));
      }
      EACH(x, -9, 9)
        EACH(k, -7, 7)
          EACH(n, -7, 7) law(R12, within(b - c * (k * x + n), 0, c - 1), v == k * x + n);
    }
    EACH_DIVISOR(g, c)
      EACH(a, -20, 20)
        EACH(r, -20, 20) {
          int same = Q(g * a + r, c) == Q(a + Q(r, g), c / g); /* R3 and R7 rest on this law */
          EACH(v, -9, 9) law(R0, within(r, g * v, g * v + g - 1), Q(g * a + r, c) == Q(a + v, c / g));
          law(R3, 1, same);
          law(R7, 1, same);
          law(R11, 1, Q(r, c) == Q(Q(r, g), c / g));
        }
    EACH(m, 1, 12)
      EACH(a, -7, 7)
        EACH(f, -20, 20) {
          law(R8, 1, Q(a + Q(f, m), c) == Q(m * a + f, m * c));
          law(R8, 1, Q(a - Q(f, m), c) == Q(m * a - f + m - 1, m * c));
          /* for c = 2, the quotient is smaller by Q(f, m) if Q(f, m) is subtracted from `a` instead of added */
          law(R8, c == 2, Q(a + Q(f, m), c) == Q(a - Q(f, m), c) + Q(f, m));
        }
  }
  EACH(l, -20, 20)
    EACH(x, -20, 20)
      EACH(n, -7, 7) {
        law(R13, l - (x + n) == 0, l == x + n);
        law(R13, l - (n - x) == 0, l == n - x);
        law(R13, within(l, n, n), l == n);
        law(R14, within(l - x, 0, 0), l == x);
      }
}

static void intervals(void) {
  EACH(j, -4, 4)
    EACH(k, -4, 4)
      EACH(lo, -4, 4)
        EACH(hi, lo, 4) {
          int64_t least = (j < 0 ? j * hi : j * lo) + (k < 0 ? k * 3 : k * -2),
                  most = (j < 0 ? j * lo : j * hi) + (k < 0 ? k * -2 : k * 3);
          int ends = 0;
          EACH(x, lo, hi)
            EACH(y, -2, 3) {
              law(I1, 1, within(j * x + k * y, least, most));
              ends |= (j * x + k * y == least) | (j * x + k * y == most) << 1;
              law(I2, within(x, lo, hi),
                  within(j * x + k, j < 0 ? j * hi + k : j * lo + k, j < 0 ? j * lo + k : j * hi + k));
            }
          law(I1, 1, ends == 3); /* the interval is exact if each variable occurs once */
        }
  EACH(m, 1, 12)
    EACH(a, -4, 4)
      EACH(b, -4, 4)
        EACH(n, -5, 5) {
          int64_t g = gcd(gcd(a, b), m), r = residue(n, g);
          EACH(x, -4, 4)
            EACH(y, -4, 4) {
              int64_t f = a * x + b * y + n, digit = f - m * Q(f, m);
              law(I3, 1, within(digit, r, m - g + r));
              law(I3, 1,
                  within(-2 * digit + x, -2 * (m - g + r) + x,
                         -2 * r + x)); /* the factor is negative, so the ends are exchanged */
              law(I4, 1,
                  3 * a * x + 5 * Q(f, m) ==
                      3 * digit + (5 + 3 * m) * Q(f, m) - 3 * (b * y + n)); /* a * x is eliminated */
            }
        }
  EACH(m, 1, 12)
    EACH(f, -20, 20)
      EACH(a, -7, 7)
        EACH(k, -7, 7) law(I5, 1, k * Q(f, m) + k * a == k * Q(f + m * a, m));
  EACH(j, -7, 7)
    EACH(k, -7, 7)
      EACH(m, 1, 12) { /* the sum of the terms' intervals contains all values of j * Q(x, m) + k * x, and maybe more */
        int64_t least = 0, most = 0;
        EACH(x, 0, 9) {
          int64_t v = j * Q(x, m) + k * x;
          least = v < least ? v : least;
          most = v > most ? v : most;
        }
        law(I6, 1,
            least >= (j < 0 ? j * Q(9, m) : 0) + (k < 0 ? k * 9 : 0) &&
                most <= (j > 0 ? j * Q(9, m) : 0) + (k > 0 ? k * 9 : 0));
      }
}

static void constraints(void) {
  EACH(l, -12, 12)
    EACH(h, l - 2, l + 9)
      EACH(g, 1, 12) {
        EACH(p, -20, 20) {
          law(C1, within(p, l + 1, h - 1), within(p, l, h)); /* the bounds of p imply the constraint */
          law(C1, p < l || p > h, !within(p, l, h));         /* the intervals are disjoint */
          law(C1, 1, within(g * p + 3, l, h) == within(p, ceiling(l - 3, g), Q(h - 3, g)));
          law(C1, 1, within(-g * p + 3, l, h) == within(p, ceiling(3 - h, g), Q(3 - l, g)));
          law(C3, 1, within(p, g * l, g * h + g - 1) == within(Q(p, g), l, h));
          law(C4, 1,
              within(Q(p, g), l, h) ==
                  within(p, l * g, h * g + g - 1)); /* the bounds of a quotient become bounds of its numerator */
        }
        EACH(f, -20, 20)
          EACH(a, -3, 3) {
            law(C2, 1, within(Q(f, g) + a, l, h) == within(f + g * a, l * g, h * g + g - 1));
            law(C2, 1, within(a - Q(f, g), l, h) == within(f - g * a, -h * g, -l * g + g - 1));
          }
        EACH(x, -12, 12)
          EACH(rest, -3, 4) {
            int64_t digit = x - g * Q(x, g);
            law(C4, within(g * x + rest, l, h), within(x, ceiling(l - 4, g), Q(h + 3, g)));
            law(C4, within(-g * x + rest, l, h), within(x, ceiling(-h - 3, g), Q(4 - l, g)));
            EACH(t, 1, 3) {
              law(C7, within(t * digit + rest, l, h),
                  within(digit, ceiling(l - 4, t), Q(h + 3, t)) && within(digit, 0, g - 1));
              law(C7, within(-t * digit + rest, l, h), within(digit, ceiling(-h - 3, t), Q(4 - l, t)));
            }
          }
      }
  EACH(g, 1, 6)
    EACH(wide, 0, g - 1)
      EACH(a, -1, 1)
        EACH(l, -9, 9)
          EACH(h, l, l + 9) {
            int ends = (!residue(l - a, g) || residue(l - a, g) > wide) && residue(h - a, g) >= wide;
            EACH(x, -12, 12)
              EACH(y, a, a + wide) law(C8, ends, within(g * x + y, l, h) == within(x, ceiling(l - a, g), Q(h - a, g)));
          }
  EACH(m, 1, 12)
    EACH(k, -7, 7)
      EACH(b, -7, 7) {
        int64_t n = m / gcd(k, m);
        EACH(r, 0, m - 1) {
          int64_t first = 0;
          while (first < m && residue(k * first + b, m) != r) ++first;
          law(C5, 1,
              (first < m) == (residue(r - b, gcd(k, m)) == 0)); /* an x exists if and only if gcd(k, m) divides r - b */
          EACH(x, -12, 12) law(C5, first < m, (residue(k * x + b, m) == r) == (residue(x - first, n) == 0));
        }
      }
  EACH(m, 1, 12)
    EACH(a, -7, 7) /* the x with a * x * x = r mod m: the first, the last and, if gaps are equal, the residue class */
      EACH(r, 0, m - 1) {
        int64_t first = 99, last = -1, gap = 0;
        int even = 1;
        EACH(x, 0, 24) {
          if (residue(a * x * x, m) != r) continue;
          if (last < 0) first = x;
          else if (!gap) gap = x - last;
          else even &= x - last == gap;
          last = x;
        }
        EACH(x, 0, 24) {
          law(C6, residue(a * x * x, m) == r, within(x, first, last));
          law(C6, even && gap,
              (residue(a * x * x, m) == r) == (within(x, first, last) && residue(x - first, gap) == 0));
        }
      }
}

static void products(void) {
  EACH(b, 1, 9)
    EACH(a, -40, 40) {
      law(S4, 1, Q(a, b) == -1 - Q(-1 - a, b));
      EACH(j, -6, 6) law(S3, j * b <= a && a < (j + 1) * b, Q(a, b) == j);
      EACH(k, -7, 7) {
        law(S1, 1, Q(b * k + a, b) == k + Q(a, b));
        EACH(g, 1, 7) law(S2, 1, Q(g * a + k, g * b) == Q(a + Q(k, g), b)); /* if k is in [0, g - 1], Q(k, g) is 0 */
        law(P9, 1, k * a - k * b * Q(a, b) == k * residue(a, b));
        law(P9, 1, k * (b - 1) - k * residue(-1 - a, b) == k * residue(a, b)); /* the same with the factor -k */
        law(P11, 1, k * Q(a, b) + k == k * ceiling(a + 1, b));
      }
    }
  EACH(x, -9, 9)
    EACH(y, -9, 9)
      EACH(z, -9, 9) {
        law(M1, 1, (x + y) * z == x * z + y * z);
        law(P10, 1, x * z - y * z == (x - y) * z);
        /* x mod c equals its expanded form x - c * (x floordiv c) */
        EACH(c, 1, 5) law(P12, x - c * Q(x, c) == y, residue(x, c) == y);
      }
}

/* P13: floor((a * r + b) / c) equals floor(r / d) for all r in 0 .. n - 1 if the first quotient rises from i - 1 to i
 * at each r = i * d, and both quotients are equal at r = n - 1. */
static void steps(void) {
  EACH(n, 1, 12)
    EACH(a, 1, 7)
      EACH(c, a + 1, 12)
        EACH(b, 0, c - 1) {
          int64_t d = ceiling(c - b, a);
          int even = Q(a * (n - 1) + b, c) == Q(n - 1, d);
          for (int64_t i = 1; i * d < n; ++i) even &= Q(a * i * d + b, c) == i && Q(a * (i * d - 1) + b, c) == i - 1;
          EACH(f, -20, 20) law(P13, even, Q(a * residue(f, n) + b, c) == Q(residue(f, n), d));
        }
}

static void prints(void) {
  EACH(m, 1, 12)
    EACH(c, 1, 8)
      EACH(f, -20, 20)
        EACH(b, -7, 7) {
          EACH(t, -7, 7)
            EACH(k, -12, 12)
              law(P3, residue(k + t * c, m) == 0,
                  residue(t * f + k * Q(f, c) + b, m) == residue(t * residue(f, c) + b, m));
          law(P5, 1, Q(b + Q(f, m), c) == Q(m * b + f, m * c));
          law(P5, 1, Q(b - Q(f, m), c) == Q(m * b - f + m - 1, m * c));
        }
  EACH(m, 1, 12)
    EACH(f, -30, 30) {
      EACH(t, -7, 7) law(P1, 1, t * f - t * m * Q(f, m) == t * residue(f, m));
      EACH(t, -7, 7) law(P1, 1, t * residue(f, m) == t * (m - 1) - t * residue(m - 1 - f, m));
      EACH(a, -7, 7)
        law(P1, 1,
            residue(f, m) ==
                residue(f + m * a, m)); /* inside a mod, coefficients may change by multiples of the modulus */
      EACH(q, -30, 30) law(P2, within(f - m * q, 0, m - 1), q == Q(f, m) && f - m * q == residue(f, m));
      EACH(k, -7, 7)
        EACH(a, -7, 7) {
          law(P4, 1, k * Q(f, m) + k * a == k * Q(f + m * a, m));
          law(P4, 1,
              k * Q(f, m) + k * a == -k * Q(m - 1 - f - m * a, m)); /* here the quotient's factor is -k instead of k */
          /* f = m * Q(f, m) + residue(f, m) */
          law(P6, residue(f, m) == residue(a, m), m * (Q(f, m) * k) == (f - residue(a, m)) * k);
        }
    }
}

static int64_t lesser(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t greater(int64_t x, int64_t y) { return x < y ? y : x; }

static void lattices(void) {
  EACH(x, -9, 9)
    EACH(y, -9, 9) {
      int64_t least = lesser(x, y), most = greater(x, y);
      EACH(z, -9, 9) {
        EACH(k, -3, 3) {
          int64_t a = k * x + z, b = k * y + z;
          law(N1, 1, k * least + z == (k < 0 ? greater(a, b) : lesser(a, b)));
          law(N1, 1, k * most + z == (k < 0 ? lesser(a, b) : greater(a, b)));
          law(P8, k != 0, least + k * z == lesser(x + k * z, y + k * z) && k * least + z == k * (least - 1) + k + z);
        }
        law(N2, 1, lesser(most, z) == greater(lesser(x, z), lesser(y, z)));
        law(N2, 1, greater(least, z) == lesser(greater(x, z), greater(y, z)));
        law(N2, 1, greater(x, least) == x && lesser(x, most) == x);
        law(N3, x <= y, lesser(lesser(x, y), z) == lesser(x, z) && greater(greater(x, y), z) == greater(y, z));
        law(N3, x <= y || x <= z, greater(x, lesser(greater(y, x), greater(z, x))) == greater(x, lesser(y, z)));
        for (int64_t m = 1; m < 4; ++m)
          for (int64_t n = 1; n < 4; ++n) {
            law(N7, m * (x - z) + n * (y - z) > -m - n,
                z <= most && lesser(greater(least, z), most) == greater(least, z));
            law(N7, m * (z - x) + n * (z - y) > -m - n, z >= least && lesser(least, z) == least);
          }
        EACH(l, -9, 9) {
          law(N7, z <= greater(x, l),
              greater(lesser(lesser(x, y), z), lesser(y, l)) == greater(lesser(y, z), lesser(y, l)));
          law(I7, x <= z && y <= z && (x >= l || y >= l), within(most, l, z));
          law(I7, x >= l && y >= l && (x <= z || y <= z), within(least, l, z));
          law(I7, 1, least <= Q(x + y, 2) && most >= ceiling(x + y, 2));
          law(C9, within(most, l, z), x <= z && y <= z);
          law(C9, within(least, l, z), x >= l && y >= l);
          law(C9, y <= z && y < l, within(most, l, z) == within(x, l, z));
          law(C9, y <= z && most >= l, within(most, l, z) == (x <= z));
          law(C9, y >= l && y > z, within(least, l, z) == within(x, l, z));
          law(C9, y >= l && least <= z, within(least, l, z) == (x >= l));
        }
      }
      EACH(z, -3, 3) {
        law(N4, 1, least + most + z == x + y + z && least - z == -greater(z - x, z - y));
        law(N6, 1, (least + z) * (most + z) == (x + z) * (y + z));
        law(N6, z >= 0, lesser(x * z, y * z) == least * z && greater(x * z, y * z) == most * z);
        law(N6, 1, least * least == (x + y) * least - x * y && most * most == (x + y) * most - x * y);
      }
      EACH(c, 1, 12) law(N5, 1, Q(least, c) == lesser(Q(x, c), Q(y, c)) && Q(most, c) == greater(Q(x, c), Q(y, c)));
    }
}

/* a xor b, computed bit by bit by division. When only -1 or 0 is left of a and b, all their higher bits are equal */
static int64_t exclusive_or(int64_t a, int64_t b) {
  int64_t sum = 0, weight = 1;
  for (; !((a == 0 || a == -1) && (b == 0 || b == -1)); weight *= 2, a = Q(a, 2), b = Q(b, 2))
    sum += weight * residue(a + b, 2);
  return sum - weight * residue(a + b, 2);
}

static void bits(void) {
  EACH(a, -40, 40)
    EACH(b, -40, 40) {
      int64_t x = exclusive_or(a, b);
      for (int64_t w = 1; w <= 128; w *= 2) {
        law(X1, 1, residue(Q(x, w), 2) == residue(Q(a, w) + Q(b, w), 2));
        law(X1, w == 128, Q(x, w) == -residue(Q(a, w) + Q(b, w), 2)); /* w is above the highest bit of a and b */
        law(X2, within(a, 0, w - 1) && b % w == 0, x == a + b);
        law(X2, 1, exclusive_or(a * w, b * w) == x * w);
        law(X3, 1,
            Q(x, w) == exclusive_or(Q(a, w), Q(b, w)) && residue(x, w) == exclusive_or(residue(a, w), residue(b, w)));
        for (int64_t n = 1; n <= 8; n *= 2) {
          int64_t digit = 0;
          for (int64_t j = 1; j < n; j *= 2) digit += j * residue(Q(a, w * j), 2);
          law(X2, 1, residue(Q(a, w), n) == digit);
          law(P7, 1, residue(Q(x, w), n) == exclusive_or(residue(Q(a, w), n), residue(Q(b, w), n)));
        }
      }
      law(X3, 1, exclusive_or(x, b) == a && exclusive_or(a, b) == exclusive_or(b, a));
      law(X3, within(a, 0, 1), exclusive_or(a, 1) == 1 - a);
      law(X4, within(a, 0, 1) && within(b, 0, 1), residue(a + b, 2) == x);
      law(X4, 1,
          residue(a + b, 2) == residue(x, 2)); /* the lowest bit of a sum is the exclusive or of the lowest bits */
      law(X4, within(a, 0, 1), residue(a + 3 * b, 2) == residue(exclusive_or(a, b), 2));
    }
}

/* ---- maps ---- */

#define D0 "domain: d0 in [-20, 20]"
#define LARGE "domain: d0 in [0, 199999]"
#define WIDE "domain: d0 in [0, 9999], d1 in [0, 146]"
#define TILE "domain: d0 in [0, 4999], d1 in [0, 5], d2 in [0, 15]"
#define DIVISOR "domain: d0 in [-1000, 1000], d1 in [1, 1000]"
#define BOX "domain: d0 in [0, 99], d1 in [0, 49]"
#define SQUARE "domain: d0 in [0, 99], d1 in [0, 99]"

#define PLANE "domain: d0 in [-40, 40], d1 in [-40, 40]"
#define CUBE "domain: d0 in [-9, 9], d1 in [-9, 9], d2 in [-9, 9]"
#define BITS "domain: d0 in [0, 63], d1 in [0, 15]"

static const struct row {
  int rule;
  const char *map, *simple; /* a map that only this rule simplifies */
  /* a map that just misses the rule's condition, and what simplify makes of it; or NULL */
  const char *outside, *stays;
} rows[] = {
    {X1, "(d0, d1) -> ((d0 xor d1) xor d0), " BITS, "(d0, d1) -> (d1), " BITS,
     "(d0, d1) -> ((d0 xor d1) xor d0 mod 32), " BITS, "(d0, d1) -> ((d0 floordiv 32) * 32 + d1), " BITS},
    {X1, "(d0) -> ((d0 xor (-(d0 floordiv 4) - 1)) xor d0 floordiv 4), domain: d0 in [-9, 20]",
     "(d0) -> (-d0 - 1), domain: d0 in [-9, 20]", NULL, NULL},
    {X2, "(d0, d1) -> (d0 * 16 xor d1), " BITS, "(d0, d1) -> (d0 * 16 + d1), " BITS,
     "(d0, d1) -> (d0 * 8 xor d1), " BITS, "(d0, d1) -> (d1 xor (d0 * 8)), " BITS},
    {X2, "(d0, d1) -> ((d0 xor d1) xor (d0 mod 4) xor ((d0 floordiv 4) * 4)), " BITS, "(d0, d1) -> (d1), " BITS, NULL,
     NULL},
    {X3, "(d0, d1) -> ((d0 xor d1) mod 4 + ((d0 xor d1) floordiv 4) * 4), " BITS, "(d0, d1) -> (d0 xor d1), " BITS,
     "(d0, d1) -> ((d0 xor d1) mod 4 + ((d0 xor d1) floordiv 4) * 3), " BITS,
     "(d0, d1) -> (((d0 xor d1) floordiv 4) * 3 + (d0 xor d1) mod 4), " BITS},
    {X3, "(d0) -> (1 - ((d0 xor d0 floordiv 2) mod 2) - ((d0 floordiv 2 xor d0) xor 1) mod 2), domain: d0 in [0, 999]",
     "(d0) -> (0), domain: d0 in [0, 999]", NULL, NULL},
    {X4, "(d0, d1) -> (d0 xor d1, (d0 + d1) mod 2), domain: d0 in [0, 1], d1 in [0, 1]",
     "(d0, d1) -> (d0 xor d1, d0 xor d1), domain: d0 in [0, 1], d1 in [0, 1]",
     "(d0, d1) -> (d0 xor d1, (d0 + d1) floordiv 2), domain: d0 in [0, 1], d1 in [0, 1]",
     "(d0, d1) -> (d0 xor d1, (d0 + d1) floordiv 2), domain: d0 in [0, 1], d1 in [0, 1]"},
    {P7, "(d0, d1) -> ((d0 floordiv 2 xor d1 floordiv 2) mod 4), " BITS,
     "(d0, d1) -> (((d0 xor d1) floordiv 2) mod 4), " BITS, "(d0, d1) -> ((d0 floordiv 2 xor d1) mod 4), " BITS,
     "(d0, d1) -> ((d1 xor (d0 floordiv 2)) mod 4), " BITS},
    {R0, "(d0) -> ((d0 * 8 + d0) floordiv 16), domain: d0 in [0, 7]", "(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]",
     "(d0) -> ((d0 * 8 + d0) floordiv 16), domain: d0 in [0, 15]",
     "(d0) -> ((d0 * 9) floordiv 16), domain: d0 in [0, 15]"},
    {R0, "(d0) -> ((d0 * 8 + d0 + 17) floordiv 16), domain: d0 in [0, 6]",
     "(d0) -> ((d0 + 2) floordiv 2), domain: d0 in [0, 6]",
     "(d0) -> ((d0 * 8 + d0 + 17) floordiv 16), domain: d0 in [0, 7]",
     "(d0) -> ((d0 * 9 + 17) floordiv 16), domain: d0 in [0, 7]"},
    {R1, "(d0, d1) -> ((d0 * 11 + d1) floordiv 5), domain: d0 in [0, 2], d1 in [0, 2]",
     "(d0, d1) -> (d0 * 2), domain: d0 in [0, 2], d1 in [0, 2]",
     "(d0, d1) -> ((d0 * 11 + d1) floordiv 5), domain: d0 in [0, 2], d1 in [0, 3]",
     "(d0, d1) -> ((d0 * 11 + d1) floordiv 5), domain: d0 in [0, 2], d1 in [0, 3]"},
    {R2, "(d0) -> (d0 mod 2, ((d0 * 6) mod 8) floordiv 8), domain: d0 in [-5, -3]",
     "(d0) -> (d0 mod 2, 0), domain: d0 in [-5, -3]",
     "(d0) -> (d0 mod 2, ((d0 * 6) mod 8) floordiv 6), domain: d0 in [-5, -3]",
     "(d0) -> (d0 mod 2, (d0 + 5) floordiv 2), domain: d0 in [-5, -3]"},
    {R2, "(d0) -> ((d0 * (999 - d0)) floordiv 249501), domain: d0 in [0, 999]", "(d0) -> (0), domain: d0 in [0, 999]",
     /* only a value in the middle differs, so samples of points do not show it */
     "(d0) -> ((d0 * (999 - d0)) floordiv 249500), domain: d0 in [0, 999]",
     "(d0) -> ((-((d0 - 999) * d0)) floordiv 249500), domain: d0 in [0, 999]"},
    {R3, "(d0) -> ((d0 * 8 + 7) floordiv 24), " D0, "(d0) -> (d0 floordiv 3), " D0,
     "(d0) -> ((d0 * 8 + 7) floordiv 25), " D0, "(d0) -> ((d0 * 8 + 7) floordiv 25), " D0},
    {R4,
     "(d0, d1, d2) -> (0, (d2 * -3) floordiv 8), domain: d0 in [0, 99], d1 in [0, 99], d2 in [0, 1], d0 * 37 + d1 * 41 in [3701, 3701]",
     /* no point of the domain is known, so R12, which compares values at sample points, does not apply */
     "(d0, d1, d2) -> (0, -d2), domain: d0 in [28, 69], d1 in [28, 65], d2 in [0, 1], d0 * 37 + d1 * 41 in [3701, 3701]",
     "(d0, d1, d2) -> (0, (d2 * -3) floordiv 8), domain: d0 in [0, 99], d1 in [0, 99], d2 in [0, 2], d0 * 37 + d1 * 41 in [3701, 3701]",
     "(d0, d1, d2) -> (0, (d2 * -3) floordiv 8), domain: d0 in [28, 69], d1 in [28, 65], d2 in [0, 2], d0 * 37 + d1 * 41 in [3701, 3701]"},
    {R4, "(d0) -> ((d0 * 64) * d0, d0 mod -8), domain: d0 in [0, 1]",
     "(d0) -> (d0 * 64, d0 * -7), domain: d0 in [0, 1]", "(d0) -> ((d0 * 64) * d0, d0 mod -8), domain: d0 in [0, 2]",
     "(d0) -> ((d0 * d0) * 64, d0 mod -8), domain: d0 in [0, 2]"},
    {R6, "(d0) -> ((d0 + d0 floordiv 2 + 2) mod 3), " D0, "(d0) -> (((d0 + 1) mod 2) * 2), " D0,
     "(d0) -> ((d0 + d0 floordiv 2 + 2) mod 4), " D0, "(d0) -> ((d0 floordiv 2 + d0 + 2) mod 4), " D0},
    {R7, "(d0) -> ((d0 * 2 + d0 mod 2) mod 6), " D0, "(d0) -> ((d0 mod 3) * 2 + d0 mod 2), " D0,
     "(d0) -> ((d0 * 2 + d0 mod 3) mod 6), " D0, "(d0) -> (((d0 mod 3) mod 2) * 3), " D0},
    {R8, "(d0, d1) -> ((d1 + d0 floordiv 5) floordiv 12), " BOX, "(d0, d1) -> ((d1 * 5 + d0) floordiv 60), " BOX,
     "(d0, d1) -> ((d1 + (d0 floordiv 5) * 5) floordiv 12), " BOX,
     "(d0, d1) -> (((d0 floordiv 5) * 5 + d1) floordiv 12), " BOX},
    {R8, "(d0) -> ((7 - d0 floordiv 5) floordiv 12), domain: d0 in [-99, 99]",
     "(d0) -> ((39 - d0) floordiv 60), domain: d0 in [-99, 99]", NULL, NULL},
    {R8, "(d0) -> (((d0 mod 12) floordiv 6 + 3) floordiv 4), " D0, "(d0) -> ((d0 floordiv 6) mod 2), " D0,
     "(d0) -> (((d0 mod 12) floordiv 5 + 3) floordiv 4), " D0, "(d0) -> ((d0 mod 12 + 15) floordiv 20), " D0},
    {R9, "(d0) -> (d0 floordiv 8 + (d0 + 4) floordiv 8), " LARGE, "(d0) -> (d0 floordiv 4), " LARGE,
     "(d0) -> (d0 floordiv 8 + (d0 + 3) floordiv 8), " LARGE, "(d0) -> ((d0 + 3) floordiv 8 + d0 floordiv 8), " LARGE},
    {R9, /* modulo 147 the sum is 2 * (ceil(x / 2) + floor(x / 2)) - d1 - 2 * d0 with x = d0 + d1, which is d1 */
     "(d0, d1) -> ((((d0 + d1 * 147 + 1) floordiv 2) * 2 + ((d0 + d1) floordiv 2) * 149 + d0 * 145) mod 147), " WIDE,
     "(d0, d1) -> (d1), " WIDE,
     "(d0, d1) -> ((((d0 + d1 * 147 + 1) floordiv 2) * 2 + ((d0 + d1) floordiv 2) * 150 + d0 * 145) mod 147), " WIDE,
     "(d0, d1) -> (((d0 + d1) floordiv 2 + d1) mod 147), " WIDE},
    {R9, "(d0) -> ((d0 + 5) floordiv 2 - (d0 - 2) floordiv 2), " LARGE, "(d0) -> (d0 mod 2 + 3), " LARGE,
     "(d0) -> ((d0 + 4) floordiv 3 - d0 floordiv 3), " LARGE, "(d0) -> ((d0 mod 3 + 4) floordiv 3), " LARGE},
    {R11, "(d0) -> ((d0 * 10) mod 6), " D0, "(d0) -> ((d0 * 4) mod 6), " D0, NULL, NULL},
    {R11, "(d0) -> (d0 floordiv 12 + (d0 mod 10) floordiv 2), domain: d0 in [0, 15]",
     "(d0) -> ((d0 floordiv 2) mod 5 + d0 floordiv 12), domain: d0 in [0, 15]",
     "(d0) -> (d0 floordiv 12 + (d0 mod 9) floordiv 2), domain: d0 in [0, 15]",
     "(d0) -> ((d0 mod 9) floordiv 2 + d0 floordiv 12), domain: d0 in [0, 15]"},
    {R12, "(d0, d1) -> (d0 floordiv 4, d1), domain: d0 in [0, 199], d1 in [0, 49], d0 - d1 * 4 in [0, 3]",
     "(d0, d1) -> (d1, d1), domain: d0 in [0, 199], d1 in [0, 49], d0 - d1 * 4 in [0, 3]",
     "(d0, d1) -> (d0 floordiv 4, d1), domain: d0 in [0, 199], d1 in [0, 49], d0 - d1 * 4 in [0, 4]",
     "(d0, d1) -> (d0 floordiv 4, d1), domain: d0 in [0, 199], d1 in [0, 49], d0 - d1 * 4 in [0, 4]"},
    {R12, "(d0) -> ((d0 mod 2) floordiv -16), " D0, "(d0) -> (-(d0 mod 2)), " D0,
     "(d0) -> ((d0 mod 3) floordiv -16), " D0, "(d0) -> ((-(d0 mod 3)) floordiv 16), " D0},
    {R13, "(d0, d1) -> (d1, d0 * (d0 * 5)), domain: d0 in [0, 1], d1 in [0, 1]",
     "(d0, d1) -> (d1, d0 * 5), domain: d0 in [0, 1], d1 in [0, 1]",
     "(d0, d1) -> (d1, d0 * (d0 * 5)), domain: d0 in [0, 2], d1 in [0, 1]",
     "(d0, d1) -> (d1, (d0 * d0) * 5), domain: d0 in [0, 2], d1 in [0, 1]"},
    {R13, "(d0) -> ((d0 * (d0 + 1)) mod 2), " D0, "(d0) -> (0), " D0, "(d0) -> ((d0 * (d0 + 2)) mod 2), " D0,
     "(d0) -> ((d0 * d0) mod 2), " D0},
    {R14, "(d0, d1) -> (d1, d0), " BOX ", d0 - d1 in [0, 0]",
     "(d0, d1) -> (d0, d1), domain: d0 in [0, 49], d1 in [0, 49], d0 - d1 in [0, 0]",
     "(d0, d1) -> (d1, d0), " BOX ", d0 - d1 in [0, 1]",
     "(d0, d1) -> (d1, d0), domain: d0 in [0, 50], d1 in [0, 49], d0 - d1 in [0, 1]"},
    {R14, "(d0) -> (d0 * d0), domain: d0 in [0, 1]", "(d0) -> (d0), domain: d0 in [0, 1]",
     "(d0) -> (d0 + (d0 * (99 - d0)) floordiv 2450), domain: d0 in [0, 99]",
     "(d0) -> ((-((d0 - 2549) * d0)) floordiv 2450), domain: d0 in [0, 99]"},
    {R14, /* the points are enumerated once, for both results together */
     "(d0, d1) -> (max(d0, d0 - (d0 - 37) * (d0 - 37) * (d1 - 61) * (d1 - 61)), max(d1, d1 - (d0 - 37) * (d0 - 37) - (d1 - 61) * (d1 - 61))), " SQUARE,
     "(d0, d1) -> (d0, d1), " SQUARE,
     "(d0, d1) -> (max(d0, d0 - (d0 - 37) * (d0 - 37) * (d1 - 61) * (d1 - 61)), max(d1, d1 + 1 - (d0 - 37) * (d0 - 37) - (d1 - 61) * (d1 - 61))), " SQUARE,
     "(d0, d1) -> (d0, max(-((d0 - 74) * d0) - (d1 - 123) * d1 - 5089, d1)), " SQUARE},
    {I1, "(d0, d1) -> (max(d0 - d1, -49)), " BOX, "(d0, d1) -> (d0 - d1), " BOX,
     "(d0, d1) -> (max(d0 - d1, -48)), " BOX, "(d0, d1) -> (max(d0 - d1, -48)), " BOX},
    {I2, "(d0, d1) -> (d1, max(d0, d1)), domain: d0 in [0, 99], d1 in [0, 99], d0 - d1 in [0, 4]",
     "(d0, d1) -> (d1, d0), domain: d0 in [0, 99], d1 in [0, 99], d0 - d1 in [0, 4]",
     "(d0, d1) -> (d1, max(d0, d1)), domain: d0 in [0, 99], d1 in [0, 99], d0 - d1 in [-1, 4]",
     "(d0, d1) -> (d1, max(d0, d1)), domain: d0 in [0, 99], d1 in [0, 99], d0 - d1 in [-1, 4]"},
    {I2, "(d0) -> (max((d0 mod 4) ceildiv 12, 1)), " D0, "(d0) -> (1), " D0,
     "(d0) -> (max((d0 mod 14) ceildiv 12, 1)), " D0, "(d0) -> (max((d0 mod 14) ceildiv 12, 1)), " D0},
    {I3, "(d0) -> (min(d0 mod 3, (d0 mod 10) * -3)), " D0, "(d0) -> ((d0 mod 10) * -3), " D0,
     "(d0) -> (min(d0 mod 3, (d0 mod 10) * -3 + 1)), " D0, "(d0) -> (min(1 - (d0 mod 10) * 3, d0 mod 3)), " D0},
    {I4, "(d0) -> (d0 - ((d0 + 7) floordiv 8) * 10), domain: d0 in [0, 8]",
     "(d0) -> ((d0 + 9) mod 10 - 9), domain: d0 in [0, 8]",
     "(d0) -> (d0 - ((d0 + 7) floordiv 8) * 10), domain: d0 in [0, 9]",
     "(d0) -> (((-d0) floordiv 8) * 10 + d0), domain: d0 in [0, 9]"},
    {I5, "(d0, d1) -> (max(d0 - (d0 + d1) floordiv 3, 0)), domain: d0 in [0, 99], d1 in [0, 2]",
     "(d0, d1) -> (d0 - (d0 + d1) floordiv 3), domain: d0 in [0, 99], d1 in [0, 2]",
     "(d0, d1) -> (max(d0 - (d0 + d1) floordiv 3, 0)), domain: d0 in [0, 99], d1 in [0, 3]",
     "(d0, d1) -> (max(d0 - (d0 + d1) floordiv 3, 0)), domain: d0 in [0, 99], d1 in [0, 3]"},
    {I6, "(d0, d1) -> (d1, d0 mod (d1 + 2) - d0), domain: d0 in [0, 1], d1 in [0, 10]",
     "(d0, d1) -> (d1, 0), domain: d0 in [0, 1], d1 in [0, 10]",
     "(d0, d1) -> (d1, d0 mod (d1 + 2) - d0), domain: d0 in [0, 2], d1 in [0, 10]",
     "(d0, d1) -> (d1, d0 mod (d1 + 2) - d0), domain: d0 in [0, 2], d1 in [0, 10]"},
    {N1, "(d0, d1, d2) -> (min(d0, d1 - d2) + d2), " CUBE, "(d0, d1, d2) -> (min(d0 + d2, d1)), " CUBE,
     "(d0, d1, d2) -> (min(d0, d1 - d2) + d2 * 2), " CUBE, "(d0, d1, d2) -> (min(d0 + d2, d1) + d2), " CUBE},
    {N1, "(d0, d1) -> (min(d0 * -3, d1 * -3) + max(d0, d1) * 3), " PLANE, "(d0, d1) -> (0), " PLANE,
     "(d0, d1) -> (min(d0 * -3, d1 * -3) + min(d0, d1) * 3), " PLANE,
     "(d0, d1) -> (min(d0 - d1, d1 - d0) * 3), " PLANE},
    {N2, "(d0, d1, d2) -> (max(min(d2, d0), min(d0, d1))), " CUBE, "(d0, d1, d2) -> (min(max(d1, d2), d0)), " CUBE,
     "(d0, d1, d2) -> (max(min(d2, d0), min(d0 + 1, d1))), " CUBE,
     "(d0, d1, d2) -> (max(min(d0 + 1, d1), min(d0, d2))), " CUBE},
    {N3, "(d0, d1) -> (min(d0 mod 4, d1 mod 3 + 3)), " PLANE, "(d0, d1) -> (d0 mod 4), " PLANE,
     "(d0, d1) -> (min(d0 mod 4, d1 mod 3 + 2)), " PLANE, "(d0, d1) -> (min(d1 mod 3 + 2, d0 mod 4)), " PLANE},
    {N3, "(d0, d1) -> (max(min(d0, d1), min(d1 - 1, d0 + 1))), " PLANE ", d1 - d0 in [-9999, 0]",
     "(d0, d1) -> (d1), " PLANE ", d1 - d0 in [-9999, 0]", NULL, NULL},
    {N4, "(d0, d1) -> (min(d0 * 2, d1) + max(d1, d0 * 2)), " PLANE, "(d0, d1) -> (d0 * 2 + d1), " PLANE,
     "(d0, d1) -> (min(d0 * 2, d1) + max(d1, d0 * 2 + 1)), " PLANE,
     "(d0, d1) -> (min(d0 * 2, d1) + max(d0 * 2 + 1, d1)), " PLANE},
    {N4, "(d0, d1) -> (max(d0 * -6, -18) + min(d0, 3) * 5), " PLANE, "(d0, d1) -> (-min(d0, 3)), " PLANE, NULL, NULL},
    {N5, "(d0, d1) -> (min(d0 floordiv 7, d1 floordiv 7 - 2)), " PLANE,
     "(d0, d1) -> (min(d1 - 14, d0) floordiv 7), " PLANE, "(d0, d1) -> (min(d0 floordiv 7, d1 floordiv 5)), " PLANE,
     "(d0, d1) -> (min(d0 floordiv 7, d1 floordiv 5)), " PLANE},
    {N5, "(d0, d1) -> (max(d0 * 8 + d1, 40) floordiv 8), domain: d0 in [0, 9999], d1 in [0, 7]",
     "(d0, d1) -> (max(d0, 5)), domain: d0 in [0, 9999], d1 in [0, 7]",
     "(d0, d1) -> (max(d0 * 8 + d1, 40) floordiv 8), domain: d0 in [0, 9999], d1 in [0, 8]",
     "(d0, d1) -> (max(d0 * 8 + d1, 40) floordiv 8), domain: d0 in [0, 9999], d1 in [0, 8]"},
    {N6, "(d0, d1) -> (min(d0 + 3, d1) * max(d1, d0 + 3)), " PLANE, "(d0, d1) -> ((d0 + 3) * d1), " PLANE,
     "(d0, d1) -> (min(d0 + 3, d1) * max(d1, d0 + 2)), " PLANE,
     "(d0, d1) -> (min(d0 + 3, d1) * max(d0 + 2, d1)), " PLANE},
    {N6, "(d0, d1, d2) -> (max(d0 * d1, d2 * d1)), domain: d0 in [-9, 9], d1 in [0, 9], d2 in [-9, 9]",
     "(d0, d1, d2) -> (max(d0, d2) * d1), domain: d0 in [-9, 9], d1 in [0, 9], d2 in [-9, 9]",
     "(d0, d1, d2) -> (max(d0 * d1, d2 * d1)), domain: d0 in [-9, 9], d1 in [-1, 9], d2 in [-9, 9]",
     "(d0, d1, d2) -> (max(d0 * d1, d1 * d2)), domain: d0 in [-9, 9], d1 in [-1, 9], d2 in [-9, 9]"},
    {N7, "(d0, d1) -> (min(min(d0 * 3, d1 * 3 + 2), d0 + d1 * 2 + 1)), " PLANE,
     "(d0, d1) -> (min(d1 * 3 + 2, d0 * 3)), " PLANE, "(d0, d1) -> (min(min(d0 * 3, d1 * 3 + 2), d0 + d1 * 2)), " PLANE,
     "(d0, d1) -> (min(d1 * 2 + min(d1 + 2, d0), d0 * 3)), " PLANE},
    {N7, "(d0, d1, d2) -> (max(max(min(d0 * 3, d2), min(d1 * 3, d2)), min(d0 + d1 * 2 - 1, d2))), " CUBE,
     "(d0, d1, d2) -> (min(max(d0, d1) * 3, d2)), " CUBE, NULL, NULL},
    {N7, "(d0, d1) -> (max(min(d0 + d1 * 2, d0 * 3), d1 * 3)), " PLANE, "(d0, d1) -> (d1 * 2 + max(d0, d1)), " PLANE,
     NULL, NULL},
    {I7, "(d0, d1) -> (max(min(d0 - d1, d1 - d0), 0)), " PLANE, "(d0, d1) -> (0), " PLANE,
     "(d0, d1) -> (max(min(d0 - d1, d1 - d0), -1)), " PLANE, "(d0, d1) -> (max(min(d0 - d1, d1 - d0), -1)), " PLANE},
    {I7, "(d0, d1) -> (max(min(d0, d1) - d1, 0)), " PLANE, "(d0, d1) -> (0), " PLANE,
     "(d0, d1) -> (max(min(d0, d1) - d1, -1)), " PLANE, "(d0, d1) -> (min(max(d0 - d1, -1), 0)), " PLANE},
    {C9, "(d0)[s0] -> (d0), domain: d0 in [0, 3], s0 in [0, 31], min(32, 100 - d0 * 32) - s0 in [1, 32]",
     "(d0)[s0] -> (d0), domain: d0 in [0, 3], s0 in [0, 31], d0 * 32 + s0 in [0, 99]",
     "(d0)[s0] -> (d0), domain: d0 in [0, 3], s0 in [0, 32], min(32, 100 - d0 * 32) - s0 in [1, 32]",
     "(d0)[s0] -> (d0), domain: d0 in [0, 3], s0 in [0, 31], d0 * 32 + s0 in [0, 99]"},
    {C9, "(d0, d1) -> (d0), " PLANE ", max(d0, d1) in [-2000, 7]",
     "(d0, d1) -> (d0), domain: d0 in [-40, 7], d1 in [-40, 7]", "(d0, d1) -> (d0), " PLANE ", max(d0, d1) in [0, 7]",
     "(d0, d1) -> (d0), domain: d0 in [-40, 7], d1 in [-40, 7], max(d0, d1) in [0, 7]"},
    {P8, "(d0, d1, d2) -> (min(min(d0 * 4, d1 * 4), d2)), " CUBE, "(d0, d1, d2) -> (min(min(d0, d1) * 4, d2)), " CUBE,
     "(d0, d1, d2) -> (min(min(d0 * 4, d1 * 3), d2)), " CUBE, "(d0, d1, d2) -> (min(min(d0 * 4, d1 * 3), d2)), " CUBE},
    {C1, "(d0, d1) -> (d0), " BOX ", d0 + d1 in [0, 148]", "(d0, d1) -> (d0), " BOX,
     "(d0, d1) -> (d0), " BOX ", d0 + d1 in [0, 147]", "(d0, d1) -> (d0), " BOX ", d0 + d1 in [0, 147]"},
    {C1, "(d0, d1) -> (d0), " BOX ", d0 * 4 - d1 * 2 in [5, 5]", "KNOWN EMPTY",
     "(d0, d1) -> (d0), " BOX ", d0 * 4 - d1 * 2 in [5, 9]",
     "(d0, d1) -> (d0), domain: d0 in [2, 26], d1 in [0, 49], d1 - d0 * 2 in [-4, -3]"},
    {C2, "(d0, d1) -> (d0), " BOX ", (d0 + d1) floordiv 4 in [2, 6]",
     "(d0, d1) -> (d0), domain: d0 in [0, 27], d1 in [0, 27], d0 + d1 in [8, 27]",
     "(d0, d1) -> (d0), " BOX ", (d0 floordiv 4) * 3 + d1 in [2, 6]",
     "(d0, d1) -> (d0), domain: d0 in [0, 11], d1 in [0, 6], (d0 floordiv 4) * 3 + d1 in [2, 6]"},
    {C2, "(d0, d1) -> (d0), " BOX ", d1 - d0 floordiv 4 in [2, 6]",
     "(d0, d1) -> (d0), domain: d0 in [0, 99], d1 in [2, 30], d0 - d1 * 4 in [-24, -5]", NULL, NULL},
    {C3, "(d0, d1, d2) -> (d0), domain: d0 in [0, 3], d1 in [0, 49], d2 in [0, 24], d0 + d1 * 4 + d2 * 32 in [0, 59]",
     "(d0, d1, d2) -> (d0), domain: d0 in [0, 3], d1 in [0, 14], d2 in [0, 1], d2 * 8 + d1 in [0, 14]",
     "(d0, d1, d2) -> (d0), domain: d0 in [0, 3], d1 in [0, 49], d2 in [0, 24], d0 + d1 * 4 + d2 * 32 in [0, 58]",
     "(d0, d1, d2) -> (d0), domain: d0 in [0, 3], d1 in [0, 14], d2 in [0, 1], d1 * 4 + d2 * 32 + d0 in [0, 58]"},
    {C4, "(d0, d1) -> (d0), " BOX ", d0 * 3 - d1 in [10, 20]",
     "(d0, d1) -> (d0), domain: d0 in [4, 23], d1 in [0, 49], d1 - d0 * 3 in [-20, -10]",
     "(d0, d1) -> (d0), " BOX ", d0 * 3 + d1 in [10, 297]", "(d0, d1) -> (d0), " BOX ", d0 * 3 + d1 in [10, 297]"},
    {C4, "(d0, d1) -> (d0), domain: d0 in [0, 599], d1 in [0, 59], (d0 floordiv 7) * 2 + d1 in [3, 6]",
     "(d0, d1) -> (d0), domain: d0 in [0, 27], d1 in [0, 6], (d0 floordiv 7) * 2 + d1 in [3, 6]",
     "(d0, d1) -> (d0), domain: d0 in [0, 599], d1 in [0, 59], (d0 floordiv 7) * 2 + d1 in [59, 170]",
     "(d0, d1) -> (d0), domain: d0 in [0, 599], d1 in [0, 59], (d0 floordiv 7) * 2 + d1 in [59, 170]"},
    {C5, "(d0) -> (d0 mod 7), domain: d0 in [0, 9998], (d0 * 5) mod 7 in [3, 3]",
     "(d0) -> (2), domain: d0 in [2, 9998], d0 mod 7 in [2, 2]",
     "(d0) -> (d0 mod 7), domain: d0 in [0, 9998], (d0 * 5) mod 7 in [3, 4]",
     "(d0) -> (d0 mod 7), domain: d0 in [2, 9998], (d0 * 5) mod 7 in [3, 4]"},
    {C5, "(d0) -> (d0), domain: d0 in [0, 9998], d0 mod 7 in [3, 3], d0 mod 5 in [2, 2]",
     "(d0) -> (d0), domain: d0 in [17, 9992], d0 mod 35 in [17, 17]", NULL, NULL},
    {C5,
     /* only C5 narrows d0 to [3324, 3326]: C4 (narrow bounds repeatedly) stops earlier, and C6 (enumerate) has too
      * many points */
     "(d0) -> (d0), domain: d0 in [0, 8000], (d0 * 2500) mod 4999 in [1662, 1663]",
     "(d0) -> (d0), domain: d0 in [3324, 3326], d0 mod 2 in [0, 0]", NULL, NULL},
    {C6, "(d0) -> (d0), domain: d0 in [0, 15], d0 * d0 in [4, 17]", "(d0) -> (d0), domain: d0 in [2, 4]",
     "(d0) -> (d0), domain: d0 in [0, 4999], d0 * d0 in [4, 17]",
     "(d0) -> (d0), domain: d0 in [0, 4999], d0 * d0 in [4, 17]"},
    {C6, "(d0) -> (d0), domain: d0 in [0, 29], (d0 * d0) mod 5 in [0, 0]",
     "(d0) -> (d0), domain: d0 in [0, 25], d0 mod 5 in [0, 0]",
     "(d0) -> (d0), domain: d0 in [0, 29], (d0 * d0) mod 5 in [1, 1]",
     "(d0) -> (d0), domain: d0 in [1, 29], (d0 * d0) mod 5 in [1, 1]"},
    {C6, "(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 9], d0 * 2 + d1 in [10, 11], d0 - d1 in [0, 1]",
     "(d0, d1) -> (4), domain: d0 in [4, 4], d1 in [3, 3]", NULL, NULL},
    {C6, "(d0) -> (d0), domain: d0 in [0, 15], d0 * d0 + d0 in [4, 4]", "KNOWN EMPTY", NULL, NULL},
    {C8,
     "(d0, d1, d2) -> (d0 mod 4, d1 + d2), " TILE
     ", (d0 * 85 + d1 * 16 + d2) mod 340 in [85, 169], d1 * 16 + d2 in [0, 84]",
     "(d0, d1, d2) -> (1, d1 + d2), domain: d0 in [1, 4997], d1 in [0, 5], d2 in [0, 15], d0 mod 4 in [1, 1], d1 * 16 + d2 in [0, 84]",
     "(d0, d1, d2) -> (d0 mod 4, d1 + d2), " TILE
     ", (d0 * 85 + d1 * 16 + d2) mod 340 in [85, 169], d1 * 16 + d2 in [0, 85]",
     "(d0, d1, d2) -> (d0 mod 4, d1 + d2), " TILE
     ", (d0 * 85 + d1 * 16 + d2) mod 340 in [85, 169], d1 * 16 + d2 in [0, 85]"},
    {C8, "(d0, d1, d2) -> (d0, d1 + d2), " TILE ", d0 * 85 - d1 * 16 - d2 in [8416, 8670], d1 * 16 + d2 in [0, 84]",
     "(d0, d1, d2) -> (d0, d1 + d2), domain: d0 in [100, 102], d1 in [0, 5], d2 in [0, 15], d1 * 16 + d2 in [0, 84]",
     "(d0, d1, d2) -> (d0, d1 + d2), " TILE ", d0 * 85 - d1 * 16 - d2 in [8417, 8670], d1 * 16 + d2 in [0, 84]",
     "(d0, d1, d2) -> (d0, d1 + d2), domain: d0 in [100, 102], d1 in [0, 5], d2 in [0, 15], d1 * 16 + d2 in [0, 84], d1 * 16 - d0 * 85 + d2 in [-8670, -8417]"},
    {C7, "(d0, d1) -> (d0, d1 mod 6), domain: d0 in [0, 3], d1 in [0, 4999], (d1 mod 6) * 8 + d0 in [12, 18]",
     "(d0, d1) -> (d0, 2), domain: d0 in [0, 2], d1 in [2, 4994], d1 mod 6 in [2, 2]",
     "(d0, d1) -> (d0, d1 mod 6), domain: d0 in [0, 3], d1 in [0, 4999], (d1 mod 6) * 8 + d0 in [11, 18]",
     "(d0, d1) -> (d0, d1 mod 6), domain: d0 in [0, 3], d1 in [1, 4999], (d1 mod 6) * 8 + d0 in [11, 18]"},
    {C7,
     "(d0, d1, d2) -> (((d1 + d2) mod 6) floordiv 2), domain: d0 in [0, 9], d1 in [0, 99], d2 in [0, 9], ((d1 + d2) mod 6) * 7 + d0 in [24, 30]",
     "(d0, d1, d2) -> ((d1 + d2) mod 6 - 2), domain: d0 in [0, 9], d1 in [0, 99], d2 in [0, 9], ((d1 + d2) mod 6) * 7 + d0 in [24, 30]",
     "(d0, d1, d2) -> (((d1 + d2) mod 6) floordiv 2), domain: d0 in [0, 9], d1 in [0, 99], d2 in [0, 9], ((d1 + d2) mod 6) * 7 + d0 in [23, 30]",
     "(d0, d1, d2) -> (((d1 + d2) floordiv 2) mod 3), domain: d0 in [0, 9], d1 in [0, 99], d2 in [0, 9], ((d1 + d2) mod 6) * 7 + d0 in [23, 30]"},
    {C7,
     /* (d1 * 6) mod 8 is even and between 3 and 5, so it is 4 */
     "(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 4999], ((d1 * 6) mod 8) * 8 + d0 in [20, 41]",
     "(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [2, 4998], d1 mod 4 in [2, 2]", NULL, NULL},
    {P1, "(d0) -> (d0 * 5 - (d0 floordiv 3) * 15), " D0, "(d0) -> ((d0 mod 3) * 5), " D0,
     "(d0) -> (d0 * 5 - (d0 floordiv 3) * 14), " D0, "(d0) -> (d0 * 5 - (d0 floordiv 3) * 14), " D0},
    {P1, "(d0) -> (3 - (-d0 - 1) mod 4), " D0, "(d0) -> (d0 mod 4), " D0, "(d0) -> (4 - (-d0 - 1) mod 4), " D0,
     "(d0) -> (d0 mod 4 + 1), " D0},
    {P1,
     /* one remainder is replaced by two */
     "(d0, d1) -> (d1 floordiv 4, ((d0 floordiv 2) * 6 + d1 * 2 + d0) mod 8), domain: d0 in [0, 3], d1 in [0, 15]",
     "(d0, d1) -> (d1 floordiv 4, (d1 mod 4) * 2 + d0 mod 2), domain: d0 in [0, 3], d1 in [0, 15]",
     "(d0, d1) -> (d1 floordiv 4, ((d0 floordiv 2) * 5 + d1 * 2 + d0) mod 8), domain: d0 in [0, 3], d1 in [0, 15]",
     "(d0, d1) -> (d1 floordiv 4, ((d0 floordiv 2) * 5 + d1 * 2 + d0) mod 8), domain: d0 in [0, 3], d1 in [0, 15]"},
    {P2, "(d0) -> (d0 - (d0 floordiv 12) * 8), domain: d0 in [-8, 7]", "(d0) -> (d0 mod 8), domain: d0 in [-8, 7]",
     "(d0) -> (d0 - (d0 floordiv 12) * 8), domain: d0 in [-9, 7]",
     "(d0) -> (d0 - (d0 floordiv 12) * 8), domain: d0 in [-9, 7]"},
    {P3, "(d0) -> (((d0 floordiv 6) * 2 + d0) mod 4), " D0, "(d0) -> ((d0 mod 6) mod 4), " D0,
     "(d0) -> ((d0 - d0 floordiv 6) mod 4), " D0, "(d0) -> ((d0 - d0 floordiv 6) mod 4), " D0},
    {P5, "(d0, d1) -> ((((d0 + d1 * 3) floordiv 2) mod 9) floordiv 4), " BOX,
     "(d0, d1) -> (((d1 * 3 + d0) mod 18) floordiv 8), " BOX,
     "(d0, d1) -> (((d0 floordiv 2) * 2 + d1) floordiv 9), " BOX,
     "(d0, d1) -> (((d0 floordiv 2) * 2 + d1) floordiv 9), " BOX},
    {P13, "(d0) -> ((d0 mod 3 + 1) floordiv 3), " D0, "(d0) -> ((d0 mod 3) floordiv 2), " D0,
     "(d0) -> (((d0 mod 5) * 2 + 1) floordiv 5), " D0, "(d0) -> (((d0 mod 5) * 2 + 1) floordiv 5), " D0},
    {P4, "(d0) -> (d0 * 4 + d0 floordiv 3), " D0, "(d0) -> ((d0 * 13) floordiv 3), " D0,
     "(d0) -> (d0 * 3 + (d0 floordiv 3) * 2), " D0, "(d0) -> ((d0 floordiv 3) * 2 + d0 * 3), " D0},
    {M1, "(d0, d1) -> ((d0 + d1) * (d0 - d1) - d0 * d0), " BOX, "(d0, d1) -> (-(d1 * d1)), " BOX,
     "(d0, d1) -> ((d0 + d1) * (d0 - d1) - d0 * d0 * d0), " BOX, "(d0, d1) -> ((d0 - d0 * d0) * d0 - d1 * d1), " BOX},
    {S1, "(d0, d1) -> ((d0 * d1 * 6 + d0) floordiv (d1 * 3)), " DIVISOR,
     "(d0, d1) -> (d0 * 2 + d0 floordiv (d1 * 3)), " DIVISOR, "(d0, d1) -> ((d0 * 7 + d0) floordiv (d1 * 3)), " DIVISOR,
     "(d0, d1) -> ((d0 * 8) floordiv (d1 * 3)), " DIVISOR},
    {S2, "(d0, d1) -> ((d0 * 4 + 3) floordiv (d1 * 4)), " DIVISOR, "(d0, d1) -> (d0 floordiv d1), " DIVISOR,
     "(d0, d1) -> ((d0 * 4 + 3) floordiv (d1 * 5)), " DIVISOR,
     "(d0, d1) -> ((d0 * 4 + 3) floordiv (d1 * 5)), " DIVISOR},
    {S2, "(d0, d1) -> ((d0 * d1 * 2) floordiv (d1 * 5)), " DIVISOR, "(d0, d1) -> ((d0 * 2) floordiv 5), " DIVISOR,
     "(d0, d1) -> ((d0 * d1 * 2 + 1) floordiv (d1 * 5)), " DIVISOR,
     "(d0, d1) -> (((d0 * d1) * 2 + 1) floordiv (d1 * 5)), " DIVISOR},
    {S3, "(d0, d1) -> (d0 mod 4 floordiv (d1 + 3)), " DIVISOR, "(d0, d1) -> (0), " DIVISOR,
     "(d0, d1) -> ((d0 mod 4) floordiv (d1 + 2)), " DIVISOR, "(d0, d1) -> ((d0 mod 4) floordiv (d1 + 2)), " DIVISOR},
    {S4, "(d0, d1) -> ((-d0 - 1) floordiv d1 + d0 floordiv d1), " DIVISOR, "(d0, d1) -> (-1), " DIVISOR,
     "(d0, d1) -> ((-d0) floordiv d1 + d0 floordiv d1), " DIVISOR,
     "(d0, d1) -> (d0 floordiv d1 - d0 ceildiv d1), " DIVISOR},
    {P9, "(d0, d1) -> (d0 - (d0 floordiv d1) * d1), " DIVISOR, "(d0, d1) -> (d0 mod d1), " DIVISOR,
     "(d0, d1) -> (d0 * 2 - (d0 floordiv d1) * d1), " DIVISOR, "(d0, d1) -> (d0 mod d1 + d0), " DIVISOR},
    {P10, "(d0, d1) -> (d0 * 10 + d0 * d1), " BOX, "(d0, d1) -> ((d1 + 10) * d0), " BOX,
     "(d0, d1) -> (d0 + d0 * d1), " BOX, "(d0, d1) -> (d0 * d1 + d0), " BOX},
    {P10, "(d0, d1) -> (d0 * 6 - d1 * 6), " BOX, "(d0, d1) -> ((d0 - d1) * 6), " BOX,
     "(d0, d1) -> (d0 * 6 - d1 * 3), " BOX, "(d0, d1) -> (d0 * 6 - d1 * 3), " BOX},
    {P11, "(d0, d1) -> ((d0 + d1 - 1) floordiv d1), " DIVISOR, "(d0, d1) -> (d0 ceildiv d1), " DIVISOR,
     "(d0, d1) -> ((d0 + d1 - 3) floordiv d1), " DIVISOR, "(d0, d1) -> ((d0 - 2) ceildiv d1), " DIVISOR},
    {P12, "(d0) -> ((d0 * 9) mod 16), domain: d0 in [2, 5], d0 mod 3 in [2, 2]",
     "(d0) -> ((d0 * 9) mod 16), domain: d0 in [2, 5], d0 mod 3 in [2, 2]",
     "(d0) -> ((d0 floordiv 3) * 11 + 2), domain: d0 in [2, 5], d0 mod 3 in [2, 2]",
     "(d0) -> ((d0 floordiv 3) * 11 + 2), domain: d0 in [2, 5], d0 mod 3 in [2, 2]"},
    {P6, "(d0, d1) -> (((d0 - 3) * d1) * 2), " BOX ", d0 mod 5 in [3, 3], d1 mod 4 in [0, 0]",
     "(d0, d1) -> (((d0 - 3) * d1) * 2), domain: d0 in [3, 98], d1 in [0, 48], d0 mod 5 in [3, 3], d1 mod 4 in [0, 0]",
     "(d0, d1) -> (((d0 floordiv 5) * (d1 floordiv 4)) * 2), " BOX ", d0 mod 5 in [3, 3], d1 mod 4 in [0, 0]",
     "(d0, d1) -> (((d0 floordiv 5) * (d1 floordiv 4)) * 2), domain: d0 in [3, 98], d1 in [0, 48], d0 mod 5 in [3, 3], d1 mod 4 in [0, 0]"},
};

static uint64_t memory[1 << 20];

static void fail(int rule, const char *what, const char *text, const char *wanted) {
  ++failures;
  printf("FAIL %s: %s\n  %s\n  %s\n", names[rule], what, text, wanted);
}

/* Go to the next point of the box, the last variable fastest. Return 0 after the last point. */
static int next(const sett_map *map, int64_t *point) {
  for (int i = sett_map_variables(*map) - 1; i >= 0; --i) {
    if (point[i]++ < map->variable[i].hi) return 1;
    point[i] = map->variable[i].lo;
  }
  return 0;
}

static int distance = 1; /* the DISTANCE of the command line */

/* Check that the map simplifies to this text, and that both texts have the same domain and values. */
static void simplifies(int rule, const char *text, const char *wanted) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map = sett_map_parse(&arena, text, strlen(text)), simple = sett_map_simplify(&arena, map);
  int64_t point[3], before[2], after[2];
  char print[512];
  sett_map_print(&arena, simple, print, sizeof print);
  if (strcmp(print, wanted)) fail(rule, print, text, wanted);
  if (map.kind == SETT_MAP_EMPTY) return;
  if (map.kind != SETT_MAP_DEFINED) {
    fail(rule, "does not read", text, wanted);
    return;
  }
  for (int i = 0; i < sett_map_variables(map); ++i) point[i] = map.variable[i].lo;
  for (int more = 1; more;) {
    int error, simple_error, inside = sett_map_evaluate(&arena, map, point, before, &error);
    int same = sett_map_evaluate(&arena, simple, point, after, &simple_error) == inside && !error && !simple_error;
    for (int i = 0; i < map.results && inside && same; ++i) same = before[i] == after[i];
    if (!same) {
      fail(rule, "another domain or value", text, wanted);
      break;
    }
    for (int i = 0; i < distance && more; ++i) more = next(&map, point);
  }
}

/* Write a minimum or maximum, nested up to `depth`, of forms of d0 and d1 to text. Return its length. */
static int draw_lattice(uint64_t *seed, int depth, char *text) {
  int n = 0, k[4];
  for (int i = 0; i < 4; ++i) k[i] = (int)((*seed = *seed * UINT64_C(6364136223846793005) + 1) >> 33) % 1000;
  if (depth == 0 || k[0] < 200)
    return sprintf(text, "d0 * %d + d1 * %d + %d", k[1] % 7 - 3, k[2] % 5 - 2, k[3] % 90 - 45);
  if (k[1] < 300) n = sprintf(text, "%d * ", k[2] % 5 - 2);
  n += sprintf(text + n, k[3] < 500 ? "min(" : "max(");
  n += draw_lattice(seed, depth - 1, text + n);
  n += sprintf(text + n, ", ");
  n += draw_lattice(seed, depth - 1, text + n);
  return n + sprintf(text + n, ")%s", k[1] % 2 ? " + d0" : "");
}

/* I6 skips points between the turns of minima and maxima: compare it with the smallest and the largest value at all points. */
static void turns(void) {
  uint64_t seed = 1;
  for (int i = 0; i < 4000; ++i) {
    sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
    char text[2048];
    int n = sprintf(text, "(d0, d1) -> (");
    n += draw_lattice(&seed, 3, text + n);
    n += sprintf(text + n, "), domain: d0 in [%d, %d], d1 in [-1, 1]", -i % 50, 30 + i % 37);
    sett_map map = sett_map_parse(&arena, text, (size_t)n);
    int64_t point[2] = {map.variable[0].lo, map.variable[1].lo}, value, lo = INT64_MAX, hi = INT64_MIN;
    do {
      sett_map_evaluate(&arena, map, point, &value, NULL);
      lo = lesser(lo, value);
      hi = greater(hi, value);
    } while (next(&map, point));
    settp_map_asked a;
    if (settp_map_ask(&arena, map, &a)) {
      fail(I6, "no form", text, "");
      continue;
    }
    int32_t l = a.lin[settp_map_at(&arena, map.result[0])->mark];
    a.engine.points = (int64_t)1 << 40;
    law(I6, 1, settp_map_prove_points(&a.engine, &l, 1, lo, hi) == 1);
    law(I6, 1,
        settp_map_prove_points(&a.engine, &l, 1, lo + 1, hi) == 0 &&
            settp_map_prove_points(&a.engine, &l, 1, lo, hi - 1) == 0);
  }
}

/* Check that the header, from section THE NORMAL FORM to its end, names every rule of RULES and no other rule. */
static void in_manual(const char *header) {
  static char text[1 << 20];
  FILE *file = fopen(header, "rb");
  size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  char *from = strstr(text, "\nTHE NORMAL FORM");
  int seen[RULE_COUNT] = {0};
  if (file) fclose(file);
  if (length + 1 >= sizeof text || !from) {
    ++failures;
    printf("FAIL %s: no section THE NORMAL FORM\n", header);
    return;
  }
  for (char *word = strtok(from, " \n:;,.()"); word; word = strtok(NULL, " \n:;,.()")) {
    int rule = 0;
    if (!strchr("RNICPXMS", *word) || !word[1] || word[1 + strspn(word + 1, "0123456789")]) continue;
    while (rule < RULE_COUNT && strcmp(word, names[rule])) ++rule;
    if (rule < RULE_COUNT) ++seen[rule];
    else ++failures, printf("FAIL %s: a rule of a comment without a test\n", word);
  }
  for (int rule = 0; rule < RULE_COUNT; ++rule)
    if (!seen[rule]) fail(rule, "not in a comment", header, "");
}

int main(int argc, char **argv) {
  if (argc > 2) distance = atoi(argv[2]);
  if (distance < 1) {
    puts("FAIL expected a DISTANCE of at least 1");
    return 1;
  }
  quotients();
  intervals();
  constraints();
  products();
  prints();
  steps();
  lattices();
  bits();
  turns();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    ++maps[rows[i].rule];
    simplifies(rows[i].rule, rows[i].map, rows[i].simple);
    simplifies(rows[i].rule, rows[i].simple, rows[i].simple);
    if (rows[i].outside) simplifies(rows[i].rule, rows[i].outside, rows[i].stays);
  }
  for (int rule = 0; rule < RULE_COUNT; ++rule) {
    if (broken[rule]) fail(rule, "the law does not hold", "", "");
    if (cases[rule] < 500 || !maps[rule]) fail(rule, "no law or no map", "", "");
  }
  in_manual(argc > 1 ? argv[1] : "include/sett_indexing_map.h");
  printf("%d rules, %d maps, %d failures\n", (int)RULE_COUNT, (int)(sizeof rows / sizeof *rows), failures);
  return failures ? 1 : 0;
}
