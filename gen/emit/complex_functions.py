"""Functions of complex numbers in generated kernels. gen/reference/complex_functions.py says by which real steps each
is defined; these are the same steps, written here a second time as C. Every step rounds: products go through `times`,
so that none is fused with a sum."""

from __future__ import annotations

import math
from typing import Callable, Dict

from gen.hlo import dtypes
from gen.targets import Target

Need = Callable[..., str]

NAMES = frozenset(
    """divide exponential exponential_minus_one log log_plus_one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh tanh sign
    atan2 keep_zero""".split()
)


def _divide(d: Target, part: str, times: Callable[[str, str], str], f: Callable[..., str]) -> str:
    """The body of a quotient: Smith's way on scaled parts, then the infinities and zeros of C's annex G."""
    t = d.register(part)
    high, low, up, half, two, down, one, nought = (d.literal(dtypes.encode(value, part), part) for value in (
        *((2.0**126, 2.0**-102, 2.0**47) if part == "f32" else (2.0**1022, 2.0**-969, 2.0**105)), 0.5, 2,
        2.0**(-47 if part == "f32" else -105), 1, 0))

    def parts(side: str, test: str, joined: str) -> str:
        return f" {joined} ".join(f"{f('fabs', f'{side}.{k}')} {test}" for k in ("re", "im"))

    def conjugate_product(factor: str, a: str, b: str, c: str, e: str) -> str:
        """A factor times the parts of (a + i b) (c - i e)."""
        re, im = f"({times(a, c)} + {times(b, e)})", f"({times(b, c)} + {times('-' + a, e)})"
        return f"re = {times(factor, re)};\n    im = {times(factor, im)};"

    def unit(of: str) -> str:
        """1 in place of an infinite part, 0 in place of another, with its sign."""
        return f("copysign", f("fabs", of) + f" == INFINITY ? {one} : {nought}", of)
    return f"""  const int large = {parts('a', f'>= {high}', '||')}, small = {parts('a', f'<= {low}', '&&')};
  const int much = {parts('b', f'>= {high}', '||')}, little = {parts('b', f'<= {low}', '&&')};
  const {t} sa = large ? {half} : small ? {up} : {one}, sb = much ? {half} : little ? {up} : {one};
  const {t} s = {times('sb', f'(large ? {two} : small ? {down} : {one})')};
  const {t} ar = {times('a.re', 'sa')}, ai = {times('a.im', 'sa')}, br = {times('b.re', 'sb')}, bi = {times('b.im', 'sb')};
  const int steep = {f('fabs', 'br')} < {f('fabs', 'bi')};
  const {t} p = steep ? ai : ar, q = steep ? ar : ai, x = steep ? bi : br, y = steep ? br : bi, r = y / x;
  const int none = r == 0 && {f('fabs', 'x')} < INFINITY; /* the product with y may overflow where x is infinite */
  const {t} pr = none ? {times('y', 'p')} / x : {times('p', 'r')}, qr = none ? {times('y', 'q')} / x : {times('q', 'r')};
  const {t} below = x + {times('y', 'r')};
  {t} re = {times('((p + qr) / below)', 's')}, im = {times('((steep ? pr - q : q - pr) / below)', 's')};
  if (re == re || im == im) {{
  }} else if (b.re == 0 && b.im == 0 && (a.re == a.re || a.im == a.im)) {{
    re = {times(f('copysign', f'({t})INFINITY', 'b.re'), 'a.re')};
    im = {times(f('copysign', f'({t})INFINITY', 'b.re'), 'a.im')};
  }} else if (({parts('a', '== INFINITY', '||')}) && {parts('b', '< INFINITY', '&&')}) {{
    const {t} u = {unit('a.re')}, v = {unit('a.im')};
    {conjugate_product(f'({t})INFINITY', 'u', 'v', 'b.re', 'b.im')}
  }} else if (({parts('b', '== INFINITY', '||')}) && {parts('a', '< INFINITY', '&&')}) {{
    const {t} u = {unit('b.re')}, v = {unit('b.im')};
    {conjugate_product(nought, 'ar', 'ai', 'u', 'v')}
  }}
"""


def helper(d: Target, need: Need, name: str, dtype: str, title: str) -> str:
    """The text of a function of one complex type."""
    part = dtypes.TABLE[dtype].part
    t = d.register(part)

    def n(value: float) -> str:
        return d.literal(dtypes.encode(value, part), part)

    def times(a: str, b: str) -> str:
        return d.product(a, b, part)

    def f(function: str, *arguments: str) -> str:
        return f"{d.math(function, part)}({', '.join(arguments)})"

    def call(function: str, *arguments: str) -> str:
        return f"{need(function, dtype)}({', '.join(arguments)})"

    def z(re: str, im: str) -> str:
        return f"{need('complex', dtype)}({re}, {im})"

    def copysign(x: str, of: str) -> str:
        return f("copysign", x, of)
    zero, infinity = n(0), f"({t})INFINITY"

    sizes = f"""  const {t} x = {f('fabs', 'a.re')}, y = {f('fabs', 'a.im')}, m = x != x || x > y ? x : y;
"""
    scaled = f"""  const {t} u = x / m, v = y / m, h = {f('hypot', 'u', 'v')}, r = {f('sqrt', times(n(0.5), '(u + h)'))}, k = {f('sqrt', 'm')};
"""
    bodies: Dict[str, str] = {}
    if name == "keep_zero":
        return f"""/* x y, and a zero where x is zero though y be infinite or NaN */
{d.function} {t} {title}({t} x, {t} y)
{{
  return x == 0 && y != 0 ? (y < 0 ? -x : x) : {times('x', 'y')};
}}
"""
    if name == "divide":
        bodies[name] = _divide(d, part, times, f) + f"  return {z('re', 'im')};\n"
    elif name == "exponential":
        bodies[name] = f"""  const {t} e = {f('exp', 'a.re')}, c = {f('cos', 'a.im')}, s = {f('sin', 'a.im')};
  if ({f('fabs', 'a.re')} == INFINITY && c != c) /* no angle */
    return {z('e', f'e == 0 ? e : ({t})NAN')};
  if (e == INFINITY) {{ /* the parts may be finite */
    const {t} h = {f('exp', times(n(0.5), 'a.re'))};
    return {z(times(times('h', 'c'), 'h'), call('keep_zero', call('keep_zero', 's', 'h'), 'h'))};
  }}
  return {z(times('e', 'c'), call('keep_zero', 's', 'e'))};
"""
    elif name == "exponential_minus_one":
        bodies[name] = f"""  const {dtype} e = {call('exponential', 'a')};
  const {t} h = {f('sin', times(n(0.5), 'a.im'))}; /* cos b - 1 = -2 h h */
  if ({f('exp', 'a.re')} == INFINITY) return e;
  return {z(f"{times(f('expm1', 'a.re'), f('cos', 'a.im'))} - {times(n(2), times('h', 'h'))}", 'e.im')};
"""
    elif name == "log":
        bodies[name] = sizes + f"""  const {t} n = x > y ? y : x, angle = {f('atan2', 'a.im', 'a.re')};
  if (x == INFINITY || y == INFINITY) return {z(infinity, 'angle')};
  if (m == 0) return {z('-' + infinity, 'angle')};
  if (m >= {n(0.5)} && m <= {n(1.5)}) /* |a| may be near 1 */
    return {z(times(n(0.5), f('log1p', f"{times(f'(m - {n(1)})', f'(m + {n(1)})')} + {times('n', 'n')}")), 'angle')};
  const {t} q = n / m;
  return {z(f"{f('log', 'm')} + {times(n(0.5), f('log1p', times('q', 'q')))}", 'angle')};
"""
    elif name == "log_plus_one":
        bodies[name] = f"""  const {dtype} l = {call('log', z(f'{n(1)} + a.re', 'a.im'))};
  if (!({f('fabs', 'a.re')} < {n(0.5)} && {f('fabs', 'a.im')} < {n(0.5)})) return l;
  return {z(times(n(0.5), f('log1p', f"{times('a.re', f'({n(2)} + a.re)')} + {times('a.im', 'a.im')}")), 'l.im')};
"""
    elif name == "sqrt":
        bodies[name] = sizes + f"""  if (y == INFINITY) return {z('y', 'a.im')};
  if (x == INFINITY) {{
    const {t} small = y == y ? 0 : y;
    return a.re > 0 ? {z('x', copysign('small', 'a.im'))} : {z('small', copysign('x', 'a.im'))};
  }}
  if (m == 0) return {z(zero, 'a.im')};
{scaled}  const {t} w = {times('k', 'r')}, o = y / ({times(n(2), 'w')});
  return a.re < 0 ? {z('o', copysign('w', 'a.im'))} : {z('w', copysign('o', 'a.im'))};
"""
    elif name == "rsqrt":
        bodies[name] = sizes + f"""  if (x == INFINITY || y == INFINITY) return {z(zero, '-' + copysign(zero, 'a.im'))};
  if (m == 0) return {z(infinity, f'({t})NAN')};
{scaled}  const {t} size = {times('k', 'h')}, w = r / size, o = v / ({times(n(2), '(' + times('r', 'size') + ')')});
  return a.re < 0 ? {z('o', '-' + copysign('w', 'a.im'))} : {z('w', '-' + copysign('o', 'a.im'))};
"""
    elif name == "cbrt":
        bodies[name] = f"""  const {t} size = {call('abs', 'a')}, q = {f('atan2', 'a.im', 'a.re')} / {n(3)};
  const {t} g = size < INFINITY ? {f('cbrt', 'size')} : {times(n(2), f('cbrt', call('abs', z(times(n(0.125), 'a.re'), times(n(0.125), 'a.im')))))};
  return {z(times('g', f('cos', 'q')), call('keep_zero', f('sin', 'q'), 'g'))};
"""
    elif name == "power":
        bodies[name] = f"""  const {dtype} l = {call('log', 'a')};
  const {t} size = {call('abs', 'a')};
  if ((b.re == 0 && b.im == 0) || (a.re == 1 && a.im == 0)) return {z(n(1), zero)};
  if (a.re == INFINITY && a.im == 0 && b.re > 0 && b.im == 0) return {z(infinity, zero)};
  const {t} g = b.im == 0 && size < INFINITY ? {f('pow', 'size', 'b.re')} : {f('exp', f"{times('b.re', 'l.re')} - {times('b.im', 'l.im')}")};
  const {t} q = {times('b.re', 'l.im')} + {call('keep_zero', 'b.im', 'l.re')};
  if (g == 0) return {z(zero, zero)};
  return {z(times('g', f('cos', 'q')), call('keep_zero', f('sin', 'q'), 'g'))};
"""
    elif name == "logistic":
        bodies[
            name
        ] = f"""  const {t} x = {f('fabs', 'a.re')}, e = {f('exp', '-x')}, u = -{f('expm1', '-x')}, h = {f('cos', times(n(0.5), 'a.im'))};
  const {t} g = {times(n(2), times('h', 'h'))}, d = {times('u', 'u')} + {times(n(2), times('e', 'g'))}; /* g = 1 + cos b, d = |1 + exp(-a)|^2 or its mirror image */
  return {z(f"(a.re < 0 ? {times('e', '(g - u)')} : u + {times('e', 'g')}) / d", f"{times('e', f('sin', 'a.im'))} / d")};
"""
    elif name == "sine":
        bodies[
            name
        ] = f"""  return {z(call('keep_zero', f('sin', 'a.re'), f('cosh', 'a.im')), times(f('cos', 'a.re'), f('sinh', 'a.im')))};
"""
    elif name == "cosine":
        bodies[
            name
        ] = f"""  return {z(times(f('cos', 'a.re'), f('cosh', 'a.im')), '-' + call('keep_zero', f('sin', 'a.re'), f('sinh', 'a.im')))};
"""
    elif name == "sinh":
        bodies[
            name
        ] = f"""  return {z(times(f('sinh', 'a.re'), f('cos', 'a.im')), call('keep_zero', f('sin', 'a.im'), f('cosh', 'a.re')))};
"""
    elif name == "cosh":
        bodies[
            name
        ] = f"""  return {z(times(f('cosh', 'a.re'), f('cos', 'a.im')), call('keep_zero', f('sin', 'a.im'), f('sinh', 'a.re')))};
"""
    elif name == "tanh":
        bodies[name] = f"""  const {t} x = {f('fabs', 'a.re')}, s = {f('sin', 'a.im')}, c = {f('cos', 'a.im')};
  if (x > {n(20)}) {{ /* 1 to the last bit */
    const {t} e = {f('exp', '-x')}, im = {times(n(4), '(' + times('(' + times('s', 'e') + ')', '(' + times('c', 'e') + ')') + ')')};
    return {z(f"x == INFINITY || s == s ? {copysign(n(1), 'a.re')} : s", f"a.im == 0 || (x == INFINITY && !({f('fabs', 'a.im')} < INFINITY)) ? {copysign(zero, 'a.im')} : im")};
  }}
  const {t} sh = {f('sinh', 'a.re')}, d = {times('sh', 'sh')} + {times('c', 'c')};
  return {z(f"{times('sh', f('cosh', 'a.re'))} / d", f"a.im == 0 ? a.im : {times('s', 'c')} / d")};
"""
    elif name == "tan":
        bodies[name] = f"""  const {dtype} r = {call('tanh', z('a.im', 'a.re'))};
  return {z('r.im', 'r.re')};
"""
    elif name == "sign":
        bodies[name] = sizes + f"""  if (m == 0) return a;
  const {t} u = a.re / m, v = a.im / m, h = m == INFINITY ? {n(1)} : {f('hypot', 'u', 'v')};
  return {z('u / h', 'v / h')};
"""
    # a is y, b is x: of -i log((x + i y) / sqrt(x x + y y)), which is the same for x and y scaled
    elif name == "atan2":
        largest = f("fmax", f("fmax", f("fabs", "a.re"), f("fabs", "a.im")),
                    f("fmax", f("fabs", "b.re"), f("fabs", "b.im")))

        def norm(re: str, im: str) -> str:
            return f"({times(re, re)} + {times(im, im)})"

        def quarter(of: str, by: str) -> str:
            return times(n(0.25), f("log1p", f"{times(of, 'n')} / {by}"))
        bodies[name] = f"""  const {t} m = {largest}, yr = a.re / m, yi = a.im / m, xr = b.re / m, xi = b.im / m;
  const {t} pr = xr - yi, pi = xi + yr, qr = xr + yi, qi = xi - yr; /* p = x + i y, q = x - i y */
  const {t} n = {times('xi', 'yr')} + {times('-xr', 'yi')}; /* (|p|^2 - |q|^2) / 4 */
  const {t} angle = {times(n(0.5), f('atan2', times(n(2), '(' + times('xr', 'yr') + ' + ' + times('xi', 'yi') + ')'), norm('xr', 'xi') + ' - ' + norm('yr', 'yi')))};
  const int flip = {times('pr', f('cos', 'angle'))} + {times('pi', f('sin', 'angle'))} < 0; /* the other root */
  return {z(f"flip ? angle - {copysign(n(math.pi), 'angle == 0 ? -pi : angle')} : angle", f"n < 0 ? {quarter(n(-4), norm('pr', 'pi'))} : -({quarter(n(4), norm('qr', 'qi'))})")};
"""
    arguments = f"{dtype} a, {dtype} b" if name in ("divide", "power", "atan2") else f"{dtype} a"
    return f"{d.function} {dtype} {title}({arguments})\n{{\n{bodies[name]}}}\n"
