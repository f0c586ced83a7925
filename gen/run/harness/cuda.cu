// cuda.cu - implements backend.h with CUDA or HIP.
#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#define cudaDeviceProp hipDeviceProp_t
#define cudaDriverGetVersion hipDriverGetVersion
#define cudaErrorInvalidValue hipErrorInvalidValue
#define cudaError_t hipError_t
#define cudaFree hipFree
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaMalloc hipMalloc
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaSetDevice hipSetDevice
#define cudaStreamCreate hipStreamCreate
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess
// HIP has no non-temporal loads and stores of vectors, which bypass the caches
#define __stcs(to, value) (*(to) = (value))
#define __ldcs(from) (*(from))
#define RUNTIME "HIP"
#else
#include <cuda_runtime.h>
#define RUNTIME "CUDA"
#endif
#include <stdio.h>
#include <string.h>
extern "C" {
#include "backend.h"
char backend_message[512];
}

static cudaStream_t stream;
static unsigned char *sums;

static int failed(const char *what, cudaError_t error)
{
  snprintf(backend_message, sizeof backend_message, "%s: %s", what, cudaGetErrorString(error));
  return (int)error;
}

extern "C" int backend_open(const char *wanted, struct device *device)
{
  int count = 0, runtime = 0, driver = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  memset(device, 0, sizeof *device);
  if (error != cudaSuccess) {
    failed("no " RUNTIME " device", error);
    return 3;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp about;
    if (cudaGetDeviceProperties(&about, i) != cudaSuccess) continue;
    if (wanted && *wanted && !strstr(about.name, wanted)) continue;
    if ((error = cudaSetDevice(i)) != cudaSuccess) return failed("cudaSetDevice", error);
    if ((error = cudaStreamCreate(&stream)) != cudaSuccess) return failed("cudaStreamCreate", error);
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    snprintf(device->name, sizeof device->name, "%s", about.name);
    snprintf(device->runtime, sizeof device->runtime, RUNTIME " runtime %d.%d, driver for %d.%d, sm_%d%d", runtime / 1000,
             runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, about.major, about.minor);
    device->units = about.multiProcessorCount;
    device->cache = (size_t)about.l2CacheSize;
    device->max_bytes = device->memory = about.totalGlobalMem;
    return 0;
  }
  snprintf(backend_message, sizeof backend_message, "no " RUNTIME " device like %s", wanted ? wanted : "any");
  return 3;
}

extern "C" void backend_close(void)
{
  cudaFree(sums);
  if (stream) cudaStreamDestroy(stream);
}

// ---- buffers ----

enum { GUARD = 4096 };

extern "C" int backend_allocate(struct buffer *buffer, size_t bytes, int guarded)
{
  size_t rounded = (bytes + 255) / 256 * 256;
  memset(buffer, 0, sizeof *buffer);
  buffer->bytes = bytes;
  buffer->before = guarded ? GUARD : 0;
  buffer->after = guarded ? GUARD + rounded - bytes : 0;
  buffer->whole_bytes = rounded + 2 * buffer->before + 256;
  cudaError_t error = cudaMalloc(&buffer->whole, buffer->whole_bytes);
  if (error != cudaSuccess) {
    buffer->whole = NULL;
    return failed("cudaMalloc", error);
  }
  buffer->data = (unsigned char *)buffer->whole + buffer->before;
  return 0;
}

extern "C" int backend_part(const struct buffer *whole, size_t at, size_t bytes, struct buffer *part)
{
  memset(part, 0, sizeof *part);
  part->bytes = bytes;
  part->data = (unsigned char *)whole->data + at;
  return 0;
}

extern "C" void backend_free(struct buffer *buffer)
{
  if (buffer->whole) cudaFree(buffer->whole);
  memset(buffer, 0, sizeof *buffer);
}

extern "C" int backend_write(const struct buffer *buffer, long long at, size_t bytes, const void *from)
{
  cudaError_t error = cudaMemcpy((unsigned char *)buffer->data + at, from, bytes, cudaMemcpyHostToDevice);
  return error == cudaSuccess ? 0 : failed("cudaMemcpy to the device", error);
}

extern "C" int backend_read(const struct buffer *buffer, long long at, size_t bytes, void *to)
{
  cudaError_t error = cudaMemcpy(to, (const unsigned char *)buffer->data + at, bytes, cudaMemcpyDeviceToHost);
  return error == cudaSuccess ? 0 : failed("cudaMemcpy from the device", error);
}

// ---- launches ----

extern "C" int backend_create(const struct sett_fusion *fusion, void **self, char *log, size_t capacity)
{
  int error = 0;
  if (capacity) log[0] = 0;
  *self = fusion->create(NULL, NULL, &error);
  return error ? failed("create", (cudaError_t)error) : 0;
}

extern "C" int backend_run(const struct sett_fusion *fusion, void *self, const struct buffer *params,
                           const struct buffer *results, const struct buffer *scratch)
{
  const void *in[MOST_BUFFERS];
  void *out[MOST_BUFFERS];
  if (fusion->params > MOST_BUFFERS || fusion->results > MOST_BUFFERS) return failed("too many buffers", cudaErrorInvalidValue);
  for (int i = 0; i < fusion->params; ++i) in[i] = params[i].data;
  for (int i = 0; i < fusion->results; ++i) out[i] = results[i].data;
  int error = fusion->run(self, stream, in, out, scratch->data);
  return error ? failed("run", (cudaError_t)error) : 0;
}

extern "C" int backend_finish(void)
{
  cudaError_t error = cudaStreamSynchronize(stream);
  return error == cudaSuccess ? 0 : failed("cudaStreamSynchronize", error);
}

extern "C" void backend_release(const struct sett_fusion *fusion, void *self)
{
  if (self) fusion->release(self);
}

// ---- copies ----

// A thread copies 16 bytes in each of STEPS steps; adjacent threads copy adjacent bytes.
template <int STEPS, bool STREAM> __global__ void copy(const uint4 *__restrict__ from, uint4 *__restrict__ to, size_t n)
{
  size_t first = (size_t)blockIdx.x * blockDim.x * STEPS + threadIdx.x;
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    size_t i = first + (size_t)s * blockDim.x;
    if (i >= n) continue;
    if (STREAM) __stcs(to + i, __ldcs(from + i));
    else to[i] = from[i];
  }
}

template <int STEPS> __global__ void sum(const uint4 *__restrict__ from, unsigned *to, size_t n)
{
  size_t first = (size_t)blockIdx.x * blockDim.x * STEPS + threadIdx.x;
  unsigned all = 0;
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    size_t i = first + (size_t)s * blockDim.x;
    uint4 v = i < n ? from[i] : make_uint4(0, 0, 0, 0);
    all += v.x + v.y + v.z + v.w;
  }
  if (all == 0x12345678u) to[threadIdx.x] = all; // so that the compiler cannot remove the reads
}

static const char *const copy_names[] = { "kernel, 16 bytes", "kernel, 4 x 16 bytes", "kernel, 4 x 16 bytes, streaming",
                                          "cudaMemcpyAsync" };

extern "C" const char *backend_copy_name(int number) { return number < 4 ? copy_names[number] : NULL; }
extern "C" const char *backend_read_name(int number) { return number < 1 ? "kernel, 8 x 16 bytes" : NULL; }

static unsigned blocks(size_t n, int steps) { return (unsigned)((n + 256u * (size_t)steps - 1) / (256u * (size_t)steps)); }

extern "C" int backend_copy(int number, const struct buffer *from, const struct buffer *to)
{
  size_t n = from->bytes / 16;
  const uint4 *source = (const uint4 *)from->data;
  uint4 *target = (uint4 *)to->data;
  cudaError_t error;
  if (number == 0) copy<1, false><<<blocks(n, 1), 256, 0, stream>>>(source, target, n);
  else if (number == 1) copy<4, false><<<blocks(n, 4), 256, 0, stream>>>(source, target, n);
  else if (number == 2) copy<4, true><<<blocks(n, 4), 256, 0, stream>>>(source, target, n);
  else cudaMemcpyAsync(target, source, from->bytes, cudaMemcpyDeviceToDevice, stream);
  error = cudaGetLastError();
  return error == cudaSuccess ? 0 : failed("the copy", error);
}

extern "C" int backend_sum(int number, const struct buffer *from)
{
  size_t n = from->bytes / 16;
  cudaError_t error = cudaSuccess;
  (void)number;
  if (!sums) error = cudaMalloc((void **)&sums, 4096);
  if (error == cudaSuccess) {
    sum<8><<<blocks(n, 8), 256, 0, stream>>>((const uint4 *)from->data, (unsigned *)sums, n);
    error = cudaGetLastError();
  }
  return error == cudaSuccess ? 0 : failed("the sum", error);
}
