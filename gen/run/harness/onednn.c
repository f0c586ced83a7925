/* onednn.c - oneDNN 2 or 3 as a rival of a kernel: a reorder or a reduction, on OMP_NUM_THREADS threads. */
#include "serve.h"
#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
#define MAKE_LAYOUT dnnl_memory_desc_create_with_strides
#define LAYOUT(l) (l)
#else
typedef dnnl_memory_desc_t layout;
#define MAKE_LAYOUT dnnl_memory_desc_init_by_strides
#define LAYOUT(l) (&(l))
#endif

static struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_memory_t in[MOST_SETS], out[MOST_SETS];
  layout from, to;
} dnnl;

static dnnl_data_type_t type_of(const char *dtype)
{
  static const struct { const char *dtype; dnnl_data_type_t type; } types[] = {
    { "f32", dnnl_f32 }, { "s32", dnnl_s32 }, { "f16", dnnl_f16 }, { "bf16", dnnl_bf16 }, { "s8", dnnl_s8 }, { "u8", dnnl_u8 } };
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    if (strcmp(dtype, types[i].dtype) == 0) return types[i].type;
  return dnnl_data_type_undef;
}

static void row_major(int rank, const dnnl_dim_t *dims, dnnl_dim_t *strides)
{
  dnnl_dim_t stride = 1;
  for (int i = rank - 1; i >= 0; stride *= dims[i--]) strides[i] = stride;
}

/* Describes both arrays of a transpose with the dimensions in the result's order. The operand's strides are permuted to
 * this order. */
static int layouts(const struct operation *op, int reduces)
{
  dnnl_dims_t dims, strides, from = { 0 }, to = { 0 }, out_strides;
  for (int i = 0; i < op->rank; ++i) dims[i] = op->dims[i];
  row_major(op->rank, dims, strides);
  for (int i = 0; i < op->rank; ++i) from[i] = to[i] = op->dims[reduces ? i : op->order[i]];
  for (int i = 0; i < op->orders; ++i)
    if (reduces) to[op->order[i]] = 1;
  row_major(op->rank, to, out_strides);
  if (!reduces) {
    dnnl_dims_t own;
    memcpy(own, strides, sizeof own);
    for (int i = 0; i < op->rank; ++i) strides[i] = own[op->order[i]];
  }
  return MAKE_LAYOUT(&dnnl.from, op->rank, from, type_of(op->dtype), strides) != dnnl_success ||
         MAKE_LAYOUT(&dnnl.to, op->rank, to, type_of(op->dtype), out_strides) != dnnl_success;
}

static dnnl_status_t describe(int reduces, dnnl_alg_kind_t kind, dnnl_primitive_desc_t *made)
{
  if (!reduces) return dnnl_reorder_primitive_desc_create(made, LAYOUT(dnnl.from), dnnl.engine, LAYOUT(dnnl.to), dnnl.engine, NULL);
#if DNNL_VERSION_MAJOR >= 3
  return dnnl_reduction_primitive_desc_create(made, dnnl.engine, kind, dnnl.from, dnnl.to, 0, 0, NULL);
#else
  dnnl_reduction_desc_t reduction;
  dnnl_status_t status = dnnl_reduction_desc_init(&reduction, kind, &dnnl.from, &dnnl.to, 0, 0);
  return status != dnnl_success ? status : dnnl_primitive_desc_create(made, &reduction, NULL, dnnl.engine, NULL);
#endif
}

static const char *prepare(const struct operation *op, char *about, size_t capacity)
{
  int reduces = strcmp(op->name, "transpose") != 0, is_sum = strcmp(op->name, "sum") == 0;
  const dnnl_version_t *version = dnnl_version();
  const char *made = "";
  dnnl_primitive_desc_t description = NULL;
  if (type_of(op->dtype) == dnnl_data_type_undef) return "it has no such dtype";
  if (reduces && !is_sum && strcmp(op->name, "max")) return "it has no such reduction";
  if (dnnl_engine_create(&dnnl.engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create(&dnnl.stream, dnnl.engine, dnnl_stream_default_flags) != dnnl_success || layouts(op, reduces))
    return "it does not start";
  if (describe(reduces, is_sum ? dnnl_reduction_sum : dnnl_reduction_max, &description) != dnnl_success ||
      dnnl_primitive_create(&dnnl.primitive, description) != dnnl_success)
    return "it has no such primitive";
  dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&made);
  snprintf(about, capacity, "oneDNN %d.%d.%d %s %s on %d threads", version->major, version->minor, version->patch,
           reduces ? "reduction" : "reorder", made, op->threads);
  return NULL;
}

static void run(const struct operation *op, int first, int calls)
{
  for (int c = 0; c < calls; ++c) {
    int set = (first + c) % op->sets;
    dnnl_exec_arg_t arguments[2];
    if (!dnnl.in[set] && (dnnl_memory_create(&dnnl.in[set], LAYOUT(dnnl.from), dnnl.engine, op->in[set]) != dnnl_success ||
                          dnnl_memory_create(&dnnl.out[set], LAYOUT(dnnl.to), dnnl.engine, op->out[set]) != dnnl_success))
      exit(1);
    arguments[0].arg = DNNL_ARG_SRC, arguments[0].memory = dnnl.in[set];
    arguments[1].arg = DNNL_ARG_DST, arguments[1].memory = dnnl.out[set];
    if (dnnl_primitive_execute(dnnl.primitive, dnnl.stream, 2, arguments) != dnnl_success) exit(1);
  }
  if (dnnl_stream_wait(dnnl.stream) != dnnl_success) exit(1);
}
