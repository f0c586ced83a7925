/* Use a plan of sett_nested_layout.h in an OpenCL C 1.2 kernel, on every device. For each slot of each thread, the
 * offset must equal the result of sett_nested_element. Run: opencl FOLDER_OF_HEADERS. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#include "../../../include/sett_nested_layout.h"

static const char source[] = "#include \"sett_nested_layout.h\"\n"
                             "kernel void where(sett_nested_plan plan, global int *out) {\n"
                             "  uint subgroup = get_global_id(0), thread = get_global_id(1), slot;\n"
                             "  global int *own = out + (subgroup * get_global_size(1) + thread) * plan.thread_slots;\n"
                             "  for (slot = 0; slot < plan.thread_slots; ++slot) own[slot] = sett_nested_offset(plan, subgroup, thread, slot);\n"
                             "}\n";
static const char *const texts[] = {
    "nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 4], "
    "subgroup_strides = [1, 0], thread_strides = [1, 16]>",
    "nested_layout<subgroup_tile = [1, 2, 3], batch_tile = [2, 1, 1], outer_tile = [1, 2, 2], thread_tile = [2, 4, 1], "
    "element_tile = [1, 1, 3], subgroup_strides = [0, 3, 1], thread_strides = [32, 2, 0]>"};

static int fail(const char *what, int error) {
  printf("FAIL %s %d\n", what, error);
  return 1;
}

static int check(cl_device_id device, const char *folder, const char *text) {
  enum { SUBGROUPS = 5, THREADS = 70 };
  static cl_int out[1 << 16];
  sett_nested_layout layout = sett_nested_parse(text, strlen(text));
  int64_t strides[3] = {1000, -100, 7}, index[3], slot;
  sett_nested_plan plan = sett_nested_prepare(&layout, strides);
  size_t global[2] = {SUBGROUPS, THREADS}, count = (size_t)SUBGROUPS * THREADS * plan.thread_slots, at = 0;
  const char *program_text = source;
  char options[512], log[4096] = "";
  cl_int error, g, t;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  cl_program program = clCreateProgramWithSource(context, 1, &program_text, NULL, &error);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_WRITE_ONLY, count * sizeof *out, NULL, &error);
  cl_kernel kernel;
  if (plan.error || count > sizeof out / sizeof *out) return fail("plan", (int)plan.error);
  snprintf(options, sizeof options, "-cl-std=CL1.2 -Werror -I%s", folder);
  error = clBuildProgram(program, 1, &device, options, NULL, NULL);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  if (error) return printf("%s\n", log), fail("build", error);
  kernel = clCreateKernel(program, "where", &error);
  if (error) return fail("kernel", error);
  error = clSetKernelArg(kernel, 0, sizeof plan, &plan);
  if (!error) error = clSetKernelArg(kernel, 1, sizeof buffer, &buffer);
  if (!error) error = clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL);
  if (!error) error = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof *out, out, 0, NULL, NULL);
  if (error) return fail("run", error);
  for (g = 0; g < SUBGROUPS; ++g)
    for (t = 0; t < THREADS; ++t)
      for (slot = 0; slot < (int64_t)plan.thread_slots; ++slot, ++at) {
        int64_t expected = 0;
        int d;
        sett_nested_element(&layout, g, t, slot, index);
        for (d = 0; d < layout.rank; ++d) expected += index[d] * strides[d];
        if (out[at] != expected) return fail("offset", out[at]);
      }
  clReleaseKernel(kernel);
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}

int main(int argc, char **argv) {
  cl_platform_id platforms[8];
  cl_device_id devices[8];
  cl_uint platform_count = 0, device_count = 0, p, d, done = 0;
  size_t i;
  if (argc < 2) return 2;
  if (clGetPlatformIDs(8, platforms, &platform_count)) platform_count = 0;
  for (p = 0; p < platform_count && p < 8; ++p) {
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 8, devices, &device_count)) continue;
    for (d = 0; d < device_count && d < 8; ++d)
      for (i = 0; i < sizeof texts / sizeof texts[0]; ++i, ++done)
        if (check(devices[d], argv[1], texts[i])) return 1;
  }
  if (!done) puts("SKIP: no OpenCL device");
  else printf("PASS %u plans\n", (unsigned)done);
  return 0;
}
