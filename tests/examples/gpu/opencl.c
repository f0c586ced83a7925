/* Run a generated kernel on the first OpenCL device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include "add_transposed.h" /* after CL/cl.h, which makes the header declare its OpenCL functions */

enum { M = 300, N = 500 };

static float a[M * N], b[N * M], y[M * N];

static void must(cl_int error, const char *what) {
  if (!error) return;
  fprintf(stderr, "error: %s: OpenCL says %d\n", what, (int)error);
  exit(1);
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  cl_uint found = 0;
  int i, wrong = 0;

  if (clGetPlatformIDs(1, &platform, &found) || !found || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
    puts("SKIP: no OpenCL device");
    return 3;
  }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  must(error, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  must(error, "clCreateCommandQueue");

  for (i = 0; i < M * N; ++i) a[i] = (float)i, b[i] = (float)(i % 100);

  /* The header contains the kernel's text, so no file is needed at run time. */
  add_transposed_opencl kernel;
  must(add_transposed_opencl_create(&kernel, context, device), "add_transposed_opencl_create");

  /* One buffer for each parameter and result, in their order. The header has the sizes. */
  cl_mem params[add_transposed_PARAMS], results[add_transposed_RESULTS];
  params[0] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, add_transposed_param_bytes[0], a, &error);
  must(error, "clCreateBuffer");
  params[1] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, add_transposed_param_bytes[1], b, &error);
  must(error, "clCreateBuffer");
  results[0] = clCreateBuffer(context, CL_MEM_WRITE_ONLY, add_transposed_result_bytes[0], NULL, &error);
  must(error, "clCreateBuffer");

  /* run only enqueues the kernel; the blocking read waits for it. */
  must(add_transposed_opencl_run(&kernel, queue, params, results, NULL), "add_transposed_opencl_run");
  must(clEnqueueReadBuffer(queue, results[0], CL_TRUE, 0, add_transposed_result_bytes[0], y, 0, NULL, NULL), "clEnqueueReadBuffer");

  for (i = 0; i < M * N; ++i) wrong += y[i] != a[i] + b[i % N * M + i / N];
  printf("y[1,2] = %g, %d of %d elements are wrong\n", (double)y[1 * N + 2], wrong, M * N);

  add_transposed_opencl_release(&kernel);
  clReleaseMemObject(params[0]);
  clReleaseMemObject(params[1]);
  clReleaseMemObject(results[0]);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return wrong != 0;
}
