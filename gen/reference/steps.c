/* Statements of a reference and of a bound. gen/reference/library.py `statements` returns a piece by
   name. A piece follows a comment that begins with its name. A word $word stands for a text; alone on a line, it may
   stand for several lines. */

/* ---- merge_sort: computes `order`, the indices of a row's elements in sorted order. $before: sets `later` to true if
   the element at `y`, which came after the element at `x`, must come before it ---- */
const int64_t n = $size;
for (int64_t t = 0; t < n; ++t) $order[t] = (int32_t)t;
for (int64_t width = 1; width < n; width *= 2) {
  for (int64_t first = 0; first < n; first += 2 * width) {
    const int64_t middle = first + width < n ? first + width : n;
    const int64_t end = first + 2 * width < n ? first + 2 * width : n;
    int64_t a = first, b = middle;
    for (int64_t t = first; t < end; ++t) {
      bool later = a == middle;
      if (a < middle && b < end) {
        const int32_t x = $order[a], y = $order[b];
        $before
      }
      $merged[t] = $order[later ? b++ : a++];
    }
  }
  memcpy($order, $merged, (size_t)n * sizeof(int32_t));
}
for (int64_t t = 0; t < $count; ++t) {
  $moved
}

/* ---- chosen: sets `best` to `at` if the comparison selects the element at `at` rather than the best one so far.
   $compared: the statements that compute $keeps, which is true if the comparison keeps the best one so far ---- */
const $kind next = $of[at];
$compared
if (best < 0 || !$keeps) {
  best = at;
  chosen = next;
}

/* ---- may_be_chosen: updates `may` (the positions of a window's elements that may be selected) with the element at
   `at` ---- */
int64_t left = 0;
int takes = some == 0;
for (int64_t k = 0; k < some; ++k) {
  $compared
  const irange kept = $interval;
  if (kept.hi != 0) may[left++] = may[k];
  takes |= kept.lo == 0;
}
some = left;
if (takes) may[some++] = at;

/* ---- same_bits: computes elements of $want bits from elements of $have bits; the sequence of all bits stays the
   same ---- */
for (int64_t i = 0; i < $count; ++i) {
  uint64_t bits = 0;
  for (int b = 0; b < $want; ++b) {
    uint64_t from = 0;
    memcpy(&from, &$of[(i * $want + b) / $have], sizeof $of[0]);
    bits |= (from >> (i * $want + b) % $have & 1) << b;
  }
  $store
}

/* ---- while: a loop with two copies of its state ---- */
$begin
for (uint8_t more; !exhausted;) {
  if ($condition($state, (void *const[]){&more})) exhausted = 1;
  if (exhausted || !more) break;
  if ($body($state, $after)) exhausted = 1;
  $next
}

/* ---- case: an arm of a conditional ---- */
$label
  exhausted |= $arm($given, $results);
  break;

/* ---- matrix: copies matrix i between LAPACK's array and row-major arrays, one array for each part ---- */
for (int64_t c = 0; c < $columns; ++c)
  for (int64_t r = 0; r < $rows; ++r) {
    $moved
  }

/* ---- call_of_finite: calls a routine that must not be called if an element of the matrix is infinite or NaN ---- */
int finite = 1;
for (int64_t k = 0; k < $count; ++k) finite &= isfinite($of[k]) != 0;
if (finite) $call;
else {
  $info[0] = -4;
  $filled
}

/* ---- sum_of_error: adds an input of a transform to `norm`, the norm of the inputs, and to `sum`, the sum of their
   magnitudes ---- */
most = fmax(most, fabs($value));
norm = hypot(norm, $value);
sum += fabs($value);
if (!(fabs($value) < INFINITY)) sum = INFINITY;

/* ---- sum_of_slack: adds to `slack` the largest distance of an input's exact value from the computed one ---- */
slack += fmax($interval.hi - $value, $value - $interval.lo);
if (!($interval.hi - $interval.lo < INFINITY)) sum = INFINITY;

/* ---- transform: computes the bound of a transform's error, for one batch ---- */
double most = 0.0, norm = 0.0, sum = 0.0, slack = 0.0;
$sums
const double unit = 0x1p-$significant * 1.01 + 0x1p-60;
const double error = $weight($limits * unit * $root * norm + slack)$scale + $subnormals * $least;
const bool fits = most < INFINITY && 16.0 * (sum + slack) <= $largest;
$intervals

/* ---- holds: tests whether the results of a LAPACK routine are correct, matrix by matrix ---- */
number *const memory = malloc($room * sizeof *memory);
const char *wrong = memory ? NULL : "not enough memory";
$arrays
for (int64_t i = 0; i < $count && !wrong; ++i) {
  $loaded
  const struct call c = {$operands, $results, $numbers, "$letters", $real, $unit, memory + $rest};
  $refused
  wrong = holds_$routine(&c);
  if (wrong && !*wrong) *unknown += $elements, wrong = NULL;
}
free(memory);
return wrong;

/* ---- refused: if a matrix is not finite, tests that the routine has refused it (info is -4) ---- */
if (!finite(x0, $count)) {
  if (!(RE(r$info[0]) == -4 && $nan)) wrong = "a matrix is not finite, and info not -4";
  continue;
}

/* ---- load_matrix: loads the elements of matrix i, row by row ---- */
for (int64_t row = 0; row < $rows; ++row)
  for (int64_t column = 0; column < $columns; ++column) $to[row * $columns + column] = $value;

/* ---- allocated: allocates an array ---- */
$array = malloc($size);
if ($array == NULL) goto done;

/* ---- freed: frees an array ---- */
free($array);
$array = NULL;

/* ---- parts: runs the parts of a long reference in order, and then frees the arrays that are still allocated ---- */
void *x[$most] = {NULL};
const int status =
  $calls
for (size_t k = 0; k < $size; ++k) free(x[k]);
return status$exhausted;
