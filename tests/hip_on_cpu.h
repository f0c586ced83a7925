/* hip_on_cpu.h - HIP's names for cuda_on_cpu.h, with wavefronts of SETT_LANES threads.
 *
 * It replaces <hip/hip_runtime.h> and <hip/hip_fp16.h>. A shuffle has no mask, so all lanes of the wavefront must take part in it.
 */
#ifndef SETT_HIP_ON_CPU_H
#define SETT_HIP_ON_CPU_H
#ifndef SETT_LANES
#define SETT_LANES 64
#endif
#include "cuda_on_cpu.h"

typedef cudaError_t hipError_t;
typedef cudaStream_t hipStream_t;
static const cudaError_t hipSuccess = cudaSuccess, hipErrorInvalidValue = cudaErrorInvalidValue;
#define hipLaunchKernel cudaLaunchKernel
#define hipMallocAsync cudaMallocAsync
#define hipFreeAsync cudaFreeAsync
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipStreamSynchronize cudaStreamSynchronize
#define __shfl_down(...) sett_shfl_down(__LINE__, SETT_LANES == 64 ? ~(uint64_t)0 : 0xffffffffu, __VA_ARGS__)
#define __shfl(...) sett_shfl(__LINE__, SETT_LANES == 64 ? ~(uint64_t)0 : 0xffffffffu, __VA_ARGS__)
#include "hip_matrix_on_cpu.h"
#endif
