/* Run the same kernel on a CUDA device. This file contains no device code, so a C or C++ compiler could compile it too. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include "add_transposed.h"

enum { M = 300, N = 500 };

static float a[M * N], b[N * M], y[M * N];

static void must(int error, const char *what) {
  if (!error) return;
  fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString((cudaError_t)error));
  exit(1);
}

int main(void) {
  void *memory[3];
  cudaStream_t stream;
  int i, devices = 0, wrong = 0;

  if (cudaGetDeviceCount(&devices) || !devices) {
    puts("SKIP: no CUDA device");
    return 3;
  }
  for (i = 0; i < M * N; ++i) a[i] = (float)i, b[i] = (float)(i % 100);

  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  must(cudaMalloc(&memory[0], add_transposed_param_bytes[0]), "cudaMalloc");
  must(cudaMalloc(&memory[1], add_transposed_param_bytes[1]), "cudaMalloc");
  must(cudaMalloc(&memory[2], add_transposed_result_bytes[0]), "cudaMalloc");
  must(cudaMemcpyAsync(memory[0], a, sizeof a, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  must(cudaMemcpyAsync(memory[1], b, sizeof b, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");

  /* The launch needs no setup. Like the copies around it, it is added to the stream and not waited for. */
  const void *params[add_transposed_PARAMS] = {memory[0], memory[1]};
  void *results[add_transposed_RESULTS] = {memory[2]};
  must(add_transposed_cuda(params, results, NULL, stream), "add_transposed_cuda");

  must(cudaMemcpyAsync(y, memory[2], sizeof y, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

  for (i = 0; i < M * N; ++i) wrong += y[i] != a[i] + b[i % N * M + i / N];
  printf("y[1,2] = %g, %d of %d elements are wrong\n", (double)y[1 * N + 2], wrong, M * N);
  for (i = 0; i < 3; ++i) cudaFree(memory[i]);
  cudaStreamDestroy(stream);
  return wrong != 0;
}
