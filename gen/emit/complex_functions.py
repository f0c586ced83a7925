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
    """exponential exponential_minus_one log log_plus_one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh tanh sign atan2
    keep_zero""".split()
)


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

    sizes = f"""  const {t} x = {f('fabs', 'a.re')}, y = {f('fabs', 'a.im')}, m = x > y ? x : y;
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
    if name == "exponential":
        bodies[name] = f"""  const {t} e = {f('exp', 'a.re')}, c = {f('cos', 'a.im')}, s = {f('sin', 'a.im')};
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
  if (b.re == 0 && b.im == 0) return {z(n(1), zero)};
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
    return {z(copysign(n(1), 'a.re'), f"a.im == 0 || (x == INFINITY && !({f('fabs', 'a.im')} < INFINITY)) ? {copysign(zero, 'a.im')} : im")};
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
    arguments = f"{dtype} a, {dtype} b" if name in ("power", "atan2") else f"{dtype} a"
    return f"{d.function} {dtype} {title}({arguments})\n{{\n{bodies[name]}}}\n"
