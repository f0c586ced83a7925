/* opencl.c - implements backend.h with OpenCL. */
#define _DEFAULT_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "backend.h"
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char backend_message[512];

static struct {
  cl_context context;
  cl_device_id device;
  cl_command_queue queue;
  int on_host;
  size_t align;
  cl_kernel copy_kernel[2], read_kernel[2];
  cl_mem sums;
} cl;

static int failed(const char *what, cl_int error)
{
  snprintf(backend_message, sizeof backend_message, "%s: OpenCL error %d", what, (int)error);
  return (int)error;
}

/* ---- device ---- */

static int has_word(const char *text, const char *word) { return !word || !*word || strstr(text, word) != NULL; }

static cl_device_id find_device(const char *wanted, struct device *device)
{
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
  if (platform_count > 16) platform_count = 16;
  for (cl_uint p = 0; p < platform_count; ++p) {
    cl_device_id devices[16];
    cl_uint count = 0;
    char platform[128] = "", all[600];
    clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform, platform, NULL);
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS) continue;
    if (count > 16) count = 16;
    for (cl_uint d = 0; d < count; ++d) {
      char driver[64] = "";
      clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof device->name, device->name, NULL);
      clGetDeviceInfo(devices[d], CL_DRIVER_VERSION, sizeof driver, driver, NULL);
      snprintf(device->runtime, sizeof device->runtime, "%s %s", platform, driver);
      snprintf(all, sizeof all, "%s %s", platform, device->name);
      if (has_word(all, wanted)) return devices[d];
    }
  }
  return NULL;
}

static size_t device_number(cl_device_info what)
{
  cl_ulong value = 0;
  clGetDeviceInfo(cl.device, what, sizeof value, &value, NULL);
  return (size_t)value;
}

int backend_open(const char *wanted, struct device *device)
{
  cl_int error = CL_SUCCESS;
  cl_uint units = 1, bits = 0;
  cl_device_type type = 0;
  memset(device, 0, sizeof *device);
  cl.device = find_device(wanted, device);
  if (!cl.device) {
    snprintf(backend_message, sizeof backend_message, "no OpenCL device%s%s", wanted && *wanted ? " like " : "",
             wanted && *wanted ? wanted : "");
    return 3;
  }
  clGetDeviceInfo(cl.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
  clGetDeviceInfo(cl.device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  clGetDeviceInfo(cl.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
  cl.on_host = (type & CL_DEVICE_TYPE_CPU) != 0;
  cl.align = bits / 8 > 128 ? bits / 8 : 128;
  device->units = (int)units;
  device->on_host = cl.on_host;
  device->cache = device_number(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  device->max_bytes = device_number(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device->memory = device_number(CL_DEVICE_GLOBAL_MEM_SIZE);
  cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
  if (error) return failed("clCreateContext", error);
  cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, &error);
  if (error) return failed("clCreateCommandQueue", error);
  return 0;
}

void backend_close(void)
{
  for (int i = 0; i < 2; ++i) {
    if (cl.copy_kernel[i]) clReleaseKernel(cl.copy_kernel[i]);
    if (cl.read_kernel[i]) clReleaseKernel(cl.read_kernel[i]);
  }
  if (cl.sums) clReleaseMemObject(cl.sums);
  if (cl.queue) clReleaseCommandQueue(cl.queue);
  if (cl.context) clReleaseContext(cl.context);
  memset(&cl, 0, sizeof cl);
}

/* ---- buffers ---- */

enum { GUARD = 4096 };

/* Allocates a buffer on the host as a private mapping. If guarded, the data ends just before an unmapped page, as
 * closely as its alignment allows. */
static int allocate_on_host(struct buffer *buffer, int guarded)
{
  cl_int error = CL_SUCCESS;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), data = buffer->bytes ? buffer->bytes : 1;
  size_t rounded = (data + cl.align - 1) / cl.align * cl.align;
  size_t inner = ((guarded ? GUARD : 0) + rounded + page - 1) / page * page;
  unsigned char *whole;
  buffer->whole_bytes = inner + 2 * page;
  whole = mmap(NULL, buffer->whole_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return failed("mmap", CL_OUT_OF_HOST_MEMORY);
  buffer->whole = whole;
  if (mprotect(whole + page, inner, PROT_READ | PROT_WRITE)) return failed("mprotect", CL_OUT_OF_HOST_MEMORY);
  buffer->host = guarded ? whole + page + inner - rounded : whole + page;
  if (guarded) buffer->before = (size_t)(buffer->host - whole) - page, buffer->after = rounded - buffer->bytes;
  buffer->data = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, data, buffer->host, &error);
  return error ? failed("clCreateBuffer", error) : 0;
}

static int allocate_on_device(struct buffer *buffer, int guarded)
{
  cl_int error = CL_SUCCESS;
  size_t data = buffer->bytes ? buffer->bytes : 1, before = guarded ? GUARD : 0;
  cl_buffer_region region = { before, data };
  cl_mem whole;
  if (before % cl.align) before = region.origin = cl.align;
  whole = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, data + 2 * before, NULL, &error);
  if (error) return failed("clCreateBuffer", error);
  buffer->data = buffer->whole = whole;
  if (!guarded) return 0;
  buffer->data = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  buffer->before = before;
  buffer->after = data + before - buffer->bytes;
  return error ? failed("clCreateSubBuffer", error) : 0;
}

int backend_allocate(struct buffer *buffer, size_t bytes, int guarded)
{
  memset(buffer, 0, sizeof *buffer);
  buffer->bytes = bytes;
  return cl.on_host ? allocate_on_host(buffer, guarded) : allocate_on_device(buffer, guarded);
}

int backend_part(const struct buffer *whole, size_t at, size_t bytes, struct buffer *part)
{
  cl_int error = CL_SUCCESS;
  size_t data = bytes ? bytes : 1;
  cl_buffer_region region = { at, data };
  memset(part, 0, sizeof *part);
  part->bytes = bytes;
  if (whole->host) {
    part->host = whole->host + at;
    part->data = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, data, part->host, &error);
    return error ? failed("clCreateBuffer", error) : 0;
  }
  part->data = clCreateSubBuffer((cl_mem)whole->data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  return error ? failed("clCreateSubBuffer", error) : 0;
}

void backend_free(struct buffer *buffer)
{
  if (buffer->data && buffer->data != buffer->whole) clReleaseMemObject((cl_mem)buffer->data);
  if (buffer->whole && cl.on_host) munmap(buffer->whole, buffer->whole_bytes);
  else if (buffer->whole) clReleaseMemObject((cl_mem)buffer->whole);
  memset(buffer, 0, sizeof *buffer);
}

/* Reads or writes part of a buffer. On the host, guards are plain memory outside the cl_mem; the data itself goes
 * through the queue. */
static int transfer(const struct buffer *buffer, long long at, size_t bytes, const void *from, void *to)
{
  cl_int error;
  cl_mem memory = (cl_mem)buffer->whole;
  size_t offset = (size_t)(at + (long long)buffer->before);
  if (bytes == 0) return 0;
  if (buffer->host) {
    if (at < 0 || (size_t)at >= buffer->bytes) {
      if (from) memcpy(buffer->host + at, from, bytes);
      else memcpy(to, buffer->host + at, bytes);
      return 0;
    }
  }
  if (buffer->host || !buffer->whole) {
    memory = (cl_mem)buffer->data;
    offset = (size_t)at;
  }
  if (from) error = clEnqueueWriteBuffer(cl.queue, memory, CL_TRUE, offset, bytes, from, 0, NULL, NULL);
  else error = clEnqueueReadBuffer(cl.queue, memory, CL_TRUE, offset, bytes, to, 0, NULL, NULL);
  return error ? failed(from ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", error) : 0;
}

int backend_write(const struct buffer *buffer, long long at, size_t bytes, const void *from)
{
  return transfer(buffer, at, bytes, from, NULL);
}

int backend_read(const struct buffer *buffer, long long at, size_t bytes, void *to)
{
  return transfer(buffer, at, bytes, NULL, to);
}

/* ---- launches ---- */

static void build_log(cl_program program, char *log, size_t capacity)
{
  size_t size = 0;
  char *text;
  log[0] = 0;
  if (!program) return;
  if (clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || size == 0) return;
  text = malloc(size + 1);
  if (!text) return;
  text[size] = 0;
  clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  snprintf(log, capacity, "%s", text);
  free(text);
}

int backend_create(const struct sett_fusion *fusion, void **self, char *log, size_t capacity)
{
  int error = 0;
  log[0] = 0;
  *self = fusion->create(cl.context, cl.device, &error);
  if (!error && *self) return 0;
  if (*self && error == CL_BUILD_PROGRAM_FAILURE) build_log((cl_program)fusion->program(*self), log, capacity);
  return failed(error == CL_BUILD_PROGRAM_FAILURE ? "the kernel does not build" : "create", error ? error : -6);
}

int backend_run(const struct sett_fusion *fusion, void *self, const struct buffer *params, const struct buffer *results,
                const struct buffer *scratch)
{
  cl_mem handles[2][MOST_BUFFERS];
  int error;
  if (fusion->params > MOST_BUFFERS || fusion->results > MOST_BUFFERS) return failed("too many buffers", CL_INVALID_VALUE);
  for (int i = 0; i < fusion->params; ++i) handles[0][i] = (cl_mem)params[i].data;
  for (int i = 0; i < fusion->results; ++i) handles[1][i] = (cl_mem)results[i].data;
  error = fusion->run(self, cl.queue, handles[0], handles[1], scratch->data);
  return error ? failed("run", error) : 0;
}

int backend_finish(void)
{
  cl_int error = clFinish(cl.queue);
  return error ? failed("clFinish", error) : 0;
}

void backend_release(const struct sett_fusion *fusion, void *self)
{
  if (self) fusion->release(self);
}

/* ---- copies ---- */

/* Each work-item copies ITEM vectors of 64 contiguous bytes on a CPU, and one vector of 16 bytes on a GPU. STREAM: with
 * non-temporal stores. */
static const char *const copy_source[] = {
  "#if !defined(STREAM) || !defined(__clang__)\n",
  "#define STORE(v, p) (*(p) = (v))\n",
  "#else\n",
  "#define STORE(v, p) __builtin_nontemporal_store(v, p)\n",
  "#endif\n",
  "#ifdef ON_HOST\n",
  "#define VECTOR uint16\n",
  "#else\n",
  "#define VECTOR uint4\n",
  "#endif\n",
  "__kernel void copy(__global const VECTOR *restrict from, __global VECTOR *restrict to, ulong n)\n",
  "{\n",
  "  ulong first = (ulong)get_global_id(0) * ITEM;\n",
  "  ulong last = first + ITEM < n ? first + ITEM : n;\n",
  "  for (ulong i = first; i < last; ++i) STORE(from[i], to + i);\n",
  "}\n",
  "__kernel void sum(__global const VECTOR *restrict from, __global VECTOR *restrict to, ulong n)\n",
  "{\n",
  "  ulong first = (ulong)get_global_id(0) * ITEM, i;\n",
  "  ulong last = first + ITEM < n ? first + ITEM : n;\n",
  "  VECTOR a = 0, b = 0, c = 0, d = 0;\n",
  "  for (i = first; i + 4 <= last; i += 4) { a += from[i]; b += from[i + 1]; c += from[i + 2]; d += from[i + 3]; }\n",
  "  for (; i < last; ++i) a += from[i];\n",
  "  to[get_global_id(0)] = a + b + c + d;\n",
  "}\n",
};

static const char *const copy_names[] = { "OpenCL kernel, streaming stores", "OpenCL kernel", "clEnqueueCopyBuffer" };
static const char *const read_names[] = { "OpenCL kernel, sum" };
enum { COPIES = 3, READS = 1 };

const char *backend_copy_name(int number) { return number < COPIES ? copy_names[number] : NULL; }
const char *backend_read_name(int number) { return number < READS ? read_names[number] : NULL; }

static cl_kernel build_copy(const char *name, int streaming, int item, cl_int *error)
{
  char options[96];
  cl_kernel kernel;
  cl_program program = clCreateProgramWithSource(cl.context, (cl_uint)(sizeof copy_source / sizeof copy_source[0]),
                                                 (const char **)(uintptr_t)copy_source, NULL, error);
  if (*error) return NULL;
  snprintf(options, sizeof options, "-cl-std=CL1.2 -DITEM=%d%s%s", item, streaming ? " -DSTREAM" : "",
           cl.on_host ? " -DON_HOST" : "");
  *error = clBuildProgram(program, 1, &cl.device, options, NULL, NULL);
  kernel = *error ? NULL : clCreateKernel(program, name, error);
  clReleaseProgram(program);
  return kernel;
}

static int launch_copy(cl_kernel *kernel, const char *name, int streaming, int item, const struct buffer *from,
                       const void *to)
{
  cl_int error = CL_SUCCESS;
  cl_ulong n = from->bytes / (cl.on_host ? 64 : 16);
  size_t items = (size_t)((n + (cl_ulong)item - 1) / (cl_ulong)item), local = cl.on_host ? 1 : 256;
  size_t global = (items + local - 1) / local * local;
  if (!*kernel) *kernel = build_copy(name, streaming, item, &error);
  if (error) return failed("the copy kernel", error);
  error = clSetKernelArg(*kernel, 0, sizeof(cl_mem), &from->data);
  if (!error) error = clSetKernelArg(*kernel, 1, sizeof(cl_mem), to);
  if (!error) error = clSetKernelArg(*kernel, 2, sizeof n, &n);
  if (!error) error = clEnqueueNDRangeKernel(cl.queue, *kernel, 1, NULL, &global, &local, 0, NULL, NULL);
  return error ? failed("the copy kernel", error) : 0;
}

int backend_copy(int number, const struct buffer *from, const struct buffer *to)
{
  cl_int error;
  if (number < 2)
    return launch_copy(&cl.copy_kernel[number], "copy", number == 0, cl.on_host ? 256 : 1, from, &to->data);
  error = clEnqueueCopyBuffer(cl.queue, (cl_mem)from->data, (cl_mem)to->data, 0, 0, from->bytes, 0, NULL, NULL);
  return error ? failed("clEnqueueCopyBuffer", error) : 0;
}

int backend_sum(int number, const struct buffer *from)
{
  cl_int error = CL_SUCCESS;
  size_t vectors = from->bytes / (cl.on_host ? 64 : 16);
  size_t item = cl.on_host ? 1024 : 64;
  (void)number;
  if (!cl.sums)
    cl.sums = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, ((vectors + item - 1) / item + 256) * 64, NULL, &error);
  if (error) return failed("clCreateBuffer", error);
  return launch_copy(&cl.read_kernel[0], "sum", 0, (int)item, from, &cl.sums);
}
