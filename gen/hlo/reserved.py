"""Names that generated C must avoid, and functions that make valid and unique names."""

from __future__ import annotations

import re
from typing import Set

_WORDS = frozenset(     # keywords of C, C++ and OpenCL
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool half
    kernel global local constant private true false class new delete this template operator namespace main""".split()
)
# headers of C11, compilers and runtimes; a generated file NAME.h must not shadow them
_HEADERS = frozenset(
    """assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
    stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
    arm_neon cuda_fp16 cuda_runtime fusion immintrin""".split()
)
# functions of math.h and complex.h; their names with suffixes f and l are reserved too
_MATH = frozenset(
    name + suffix for suffix in ("", "f", "l") for name in """acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg
    casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt
    ctan ctanh drem erf erfc exp exp2 exp10 expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf
    isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
    pow pow10 remainder remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh tgamma
    trunc y0 y1 yn""".split()
)
# names in stdlib.h, stdio.h, string.h, time.h and ctype.h, including additions by operating systems
_LIBRARY = frozenset(
    """a64l abort abs aligned_alloc alloca arc4random arc4random_buf arc4random_uniform asctime asctime_r at_quick_exit atexit
    atof atoi atol atoll bcmp bcopy be16toh be32toh be64toh bsearch bzero calloc clearenv clearerr clearerr_unlocked clock
    clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime ctermid ctime ctime_r daylight difftime div
    dprintf drand48 drand48_r dysize ecvt ecvt_r erand48 erand48_r exit explicit_bzero fclose fcvt fcvt_r fd_mask fd_set
    fdopen feof feof_unlocked ferror ferror_unlocked fflush fflush_unlocked ffs ffsl ffsll fgetc fgetc_unlocked fgetpos fgets
    fileno fileno_unlocked flockfile fmemopen fopen fpclassify fprintf fputc fputc_unlocked fputs fread fread_unlocked free
    freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile funlockfile fwrite fwrite_unlocked gcvt getc getc_unlocked
    getchar getchar_unlocked getdelim getenv getline getloadavg getsubopt getw gmtime gmtime_r htobe16 htobe32 htobe64 htole16
    htole32 htole64 index initstate initstate_r isalnum isalnum_l isalpha isalpha_l isascii isascii_l isblank isblank_l
    iscntrl iscntrl_l isdigit isdigit_l isfinite isgraph isgraph_l isgreater isgreaterequal isless islessequal islessgreater
    islower islower_l isnormal isprint isprint_l ispunct ispunct_l isspace isspace_l isunordered isupper isupper_l isxdigit
    isxdigit_l jrand48 jrand48_r l64a labs lcong48 lcong48_r ldiv le16toh le32toh le64toh lgamma_r lgammaf_r lgammal_r linux
    llabs lldiv localtime localtime_r lrand48 lrand48_r malloc math_errhandling mblen mbstowcs mbtowc memccpy memchr memcmp
    memcpy memmove memset mkdtemp mkstemp mkstemps mktemp mktime mrand48 mrand48_r nanosleep nrand48 nrand48_r offsetof
    on_exit open_memstream pclose perror popen posix_memalign printf pselect putc putc_unlocked putchar putchar_unlocked
    putenv puts putw qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort quick_exit rand rand_r random random_r realloc reallocarray
    realpath remove rename renameat rewind rindex rpmatch scanf seed48 seed48_r select setbuf setbuffer setenv setlinebuf
    setstate setstate_r setvbuf signbit signgam snprintf sprintf srand srand48 srand48_r srandom srandom_r sscanf static_assert
    stderr stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp strcoll strcoll_l strcpy strcspn strdup
    strerror strerror_l strerror_r strftime strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup
    strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtok strtok_r strtol strtold strtoll strtoq strtoul
    strtoull strtouq strxfrm strxfrm_l system tempnam timegm timelocal timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime timespec_get timezone tmpfile tmpnam tmpnam_r toascii toascii_l tolower tolower_l toupper
    toupper_l tzname tzset ungetc unix unsetenv u_char u_int u_long u_short va_arg va_copy va_end va_list va_start valloc
    vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb""".split()
)
# This matches macros (no lower-case letter), types that end in _t, and vector types of OpenCL and CUDA such as float4.
_TYPES_AND_MACROS = re.compile(r"[A-Z_0-9]+|\w+_t|dim3|(?:u?(?:char|short|int|long|longlong)|half|float|double)\d*")


def c_identifier(text: str) -> str:
    """Return a C identifier similar to the text."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if not name or not (name[0].isalpha()):
        name = "k" + ("" if name.startswith("_") else "_") + name
    return name + "_" if name in _WORDS else name


def unique(name: str, taken: "Set[str]", mark: str = "_") -> str:
    """Return the name if `taken` does not have it. Otherwise return the name with `mark` and a number at its end. Add
    the result to `taken`.
    """
    base, count = name, 1
    while name in taken:
        count += 1
        name = f"{base}{mark}{count}"
    taken.add(name)
    return name


def program_name(text: str) -> str:
    """Return a name for a program's files and functions that is similar to the text. It cannot clash with C's headers
    in a file that includes NAME.h and these headers.
    """
    name = c_identifier(text)
    taken = name in _HEADERS | _MATH | _LIBRARY or _TYPES_AND_MACROS.fullmatch(name)
    return name + "_" if taken else name


# Names that parameters cannot have: parameterless macros of C's library, type names that later parameters may use, and
# keywords of C++ (C++ programs include the header too).
_NO_PARAMETER = re.compile(r"I|[A-Z_0-9]{2,}|\w+_t|(?:PRI|SCN)\w+|" + "|".join(
    """errno linux unix complex imaginary noreturn thread_local alignas alignof static_assert math_errhandling asm typeof
    and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq catch concept const_cast constexpr consteval constinit
    decltype dynamic_cast explicit export friend mutable noexcept nullptr protected public reinterpret_cast requires
    static_cast throw try typeid typename using virtual""".split()))


def parameter_name(text: str) -> str:
    """Return a name for a function's parameter in a generated header. It is `text`, changed only as necessary: it is no
    keyword of C++, and no macro or type of C's headers, which may be included before.
    """
    name = c_identifier(text)
    return name + "_" if _NO_PARAMETER.fullmatch(name) else name
