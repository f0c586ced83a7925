/* sett_mma_layouts.h - v0.4 - the fragments of matrix instructions (MFMA, WMMA, mma.sync) as nested layouts
   SPDX-License-Identifier: Apache-2.0

WHAT
  A matrix instruction has operands A (M x K), B (K x N) and C (M x N) that are distributed over the lanes of one subgroup. For
  each instruction that IREE knows, and for some more of NVIDIA's, this header returns the lane and register of each element
  as a nested layout. All functions of sett_nested_layout.h apply to it.

INCLUDE
    #include "sett_nested_layout.h"
    #include "sett_mma_layouts.h"
  C11 or C++17, freestanding, host only. By default, every function is static inline. Nothing is allocated.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  Those of sett_nested_layout.h.

A FIRST LOOK
    #include <stdio.h>
    #include "sett_nested_layout.h"
    #include "sett_mma_layouts.h"
    int main(void) {
      sett_nested_layout layout = sett_mma_layout(SETT_MMA_MFMA_F32_16x16x16_F16, SETT_MMA_ACC);
      int64_t index[2];
      sett_nested_element(&layout, 0, 17, 2, index);
      printf("lane 17, register 2: C[%lld][%lld]\n", (long long)index[0], (long long)index[1]);
      return 0;
    }
  prints
    lane 17, register 2: C[6][1]

THE MODEL
  An instruction belongs to a group. For each operand, the group has the names of the dimensions, the outer tile, and the
  thread tile with its strides (see THE MODEL of sett_nested_layout.h). Only the element tile differs between instructions of a
  group: it is size / (outer * thread), where size is the operand's size in the dimension. All subgroup and batch tiles are 1.
  The dimensions are M, N and K. If one instruction computes several small products (blocks), a first dimension, which is also
  named B, counts them. In block-scaled instructions, two dimensions replace K: S scales, and V = 32 values per scale.
  sett_mma_lanes returns the number of lanes that hold each element: 1, or 2 if half of the subgroup repeats the other half.
  A lane is a thread of the subgroup. Slots number the values of a lane in the order of its registers (exception: "slots of A"
  below); values packed into one register are numbered from its low bits up.

  Each lane holds the elements that IREE's table (commit b48a5955) gives it. The vendors' documents agree with the table for
  every lane and slot, with the exceptions below. tests/layouts/test_mma.py has the documents as formulas, and lists the
  documents that could not be verified.
    order of k: for the instructions listed here, the k of this header differs from the k of the documents. This does not change
      the product, because A and B have the same k in each lane and slot, both in this header and in the documents. In the
      documents, k of lane l and slot s is
      16 * (l div 16) + s mod 16 + 64 * (s div 16)   MFMA_F32_16x16x128_*
      16 * (l div 32) + s mod 16 + 32 * (s div 16)   MFMA_F32_32x32x64_*
      8 * (l div 16) + s mod 8 + 16 * (s div 8)      WMMA_*_16x16x32_* WMMA_*_16x16x64_* WMMA_*_16x16x128_*
      4 * (l div 16) + s mod 4 + 16 * (s div 4)      VMFMA_F32_16x16x32_F16
      4 * (l div 32) + s mod 4 + 8 * (s div 4)       VMFMA_F32_32x32x16_F16
      8 * (l div 16) + s                             VMFMA_F32_16x16x32_F8*
      8 * (l div 32) + s                             VMFMA_F32_32x32x16_F8*
      No document describes VMFMA, which is executed as two f16 instructions or as one f8 instruction. The VMFMA formulas
      above give the order of k of the executed instructions.
    scales of f8: MFMA_SCALE_* agrees with the documents for f4. For f8, the order of k in the documents is that of the first two
      lines above, but lane l holds the scale of the 32 values from k = 32 * (l div 16) on (for 32x32, 32 * (l div 32)). If
      the documents are right, the scale in a lane does not belong to all values in this lane, and f8 values loaded by the
      layouts of this header are multiplied by wrong scales. Sources disagree on this, so test it on your device.
    slots of A: NV_MMA_SYNC_* PTX_M16N8K8_F32_TF32 PTX_M16N8K8_F64_F64 PTX_M16N8K32_S32_S8 PTX_M16N8K64_S32_S4
      In sett_mma_layout, as in IREE's table, the outer tile is in row-major order; PTX numbers registers along M first.
      sett_mma_ptx_layout returns a layout in the order of PTX, whose batch tile is the K part of the outer tile. In both
      orders, a lane holds the same elements.
        m16n8k16 A, lane 0:  slots 0 1 | 2 3 | 4 5 | 6 7    IREE:     row 0 k 0,1 | row 0 k 8,9 | row 8 k 0,1 | row 8 k 8,9
                                                            PTX:      row 0 k 0,1 | row 8 k 0,1 | row 0 k 8,9 | row 8 k 8,9
    slots of C: MFMA_*_32x32x1x2B_* MFMA_*_32x32x4x2B_* follow the documents here, and differ from IREE's table. Slots are the
      registers in order: 16 * block + 4 * (row div 8) + row mod 4. In IREE's table (outer_tile = [1, 4, 1], element_tile =
      [2, 4, 1]), slots are not in the order of the registers. In both orders, a lane holds the same elements.
    others: WMMAR3 accumulators of 16 bits fill only the low halves of registers: slot s is the low half of register s. IREE's
      col_major accumulators are the layouts here with M and N exchanged by sett_nested_permute. (IREE exchanges the first two
      dimensions, which are B and M for instructions with blocks.) NV_WMMA fragments are opaque: their layout is not
      documented, so the functions refuse them.
  IREE does not have the family PTX; the layouts of this family come from the tables for mma.sync in the PTX manual.

FUNCTIONS
  sett_mma_find          name -> its number, or -1    sett_mma_get           number -> description
  sett_mma_layout        an operand's nested layout   sett_mma_ptx_layout    in PTX's order of registers
  sett_mma_lanes         number of lanes that hold each element
  sett_mma_contraction   an operand of a larger contraction with loops b, m, n, k; the instruction tiles the innermost loop of each kind

LAWS (nested_test.c enumerates every row, test_nested.py compares with IREE's table, test_mma.py with the documents; in tests/layouts)
  1 cover      each element of the operand is held by exactly sett_mma_lanes lanes of a subgroup.
  2 size       the layout has the shape of the operand: outer * thread * element in each dimension.
  3 ptx        the slots of sett_mma_ptx_layout are the registers of the PTX manual; the owners are those of sett_mma_layout.
  4 documents  lanes and slots hold the elements of the vendors' documents, with the exceptions above.

ANSWERS (in all sett headers)
  If a question may stay undecided, its answer is a record with the fields yes and no. yes is 1 only if yes is proved; no is
  1 only if no is proved. If both are 0, the question is not decided or an input had failed, and the field reason or error
  says why. A function that answers with an int returns 1 for a proved yes and 0 otherwise; an error is in a field or an
  output parameter (sett_map_fits returns it as a negative number). A size, place or index that does not exist is -1. A
  function that returns an error code returns 0 if there is no error. Output parameters are always written; without a value,
  they become -1 or 0. In a list, the field `count` is the number of entries.

ARGUMENTS (in all sett headers)
  Passed by value: numbers, handles (sett_expr), maps (sett_map), short lists and marks (sett_analysis_list,
  sett_nested_counts, sett_map_mark), and device plans, which are kernel arguments. All other records are passed by a pointer
  to const and returned by value. A pointer to non-const points to caller-owned memory that the function writes. An error is
  an int; 0 means no error. sett_<module>_message(error) returns its text, which is a constant string.

ERRORS
  If a request is not possible, the function returns a failed layout with an error of sett_nested_layout.h: SETT_NESTED_ERROR_
  followed by OPAQUE, OPERAND, INTRINSIC, PTX or LOOPS, or an error of sett_nested_contract.

LIMITS
  Only the instructions of the table are known. The limits of sett_nested_layout.h also hold.

HISTORY
  0.4  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.3  m16n8k4 and m16n8k8 of f64.
  0.2  slots of 32x32 accumulators with blocks are registers in order; the differences from the documents are listed.
  0.1  118 intrinsics of IREE, 12 more of PTX.
*/
#ifndef SETT_MMA_LAYOUTS_H
#define SETT_MMA_LAYOUTS_H

#define SETT_MMA_VERSION 400 /* version 0.4.0: 10000 * major + 100 * minor + patch */

#ifndef SETT_NESTED_LAYOUT_H
#error "include sett_nested_layout.h before sett_mma_layouts.h"
#endif

/* ---- the data --------------------------------------------------------------------------------------------------- */

/* The columns are: group; operand; dimensions; outer tile, thread tile and thread strides (three numbers each; if there are two dimensions, the last
 * number has no meaning); number of lanes that hold an element. */
/* clang-format off */
#define SETT_MMA_FRAGMENTS(X)                                                                                        \
  X(MFMA_16, LHS, "MK", 1, 1, 1,  16, 4, 1,  1, 16, 0,  1)                                                           \
  X(MFMA_16, RHS, "KN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                           \
  X(MFMA_16, ACC, "MN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                           \
  X(MFMA_32, LHS, "MK", 1, 1, 1,  32, 2, 1,  1, 32, 0,  1)                                                           \
  X(MFMA_32, RHS, "KN", 1, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                           \
  X(MFMA_32, ACC, "MN", 4, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                           \
  X(MFMA_16_F64, LHS, "MK", 1, 1, 1,  16, 4, 1,  1, 16, 0,  1)                                                       \
  X(MFMA_16_F64, RHS, "KN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                       \
  X(MFMA_16_F64, ACC, "MN", 4, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                       \
  X(MFMA_4B, LHS, "BMK", 1, 1, 1,  16, 4, 1,  4, 1, 0,  1)                                                           \
  X(MFMA_4B, RHS, "BKN", 1, 1, 1,  16, 1, 4,  4, 0, 1,  1)                                                           \
  X(MFMA_4B, ACC, "BMN", 1, 1, 1,  16, 1, 4,  4, 0, 1,  1)                                                           \
  X(MFMA_16B, LHS, "BMK", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                         \
  X(MFMA_16B, RHS, "BKN", 1, 1, 1,  4, 1, 16,  16, 0, 1,  1)                                                         \
  X(MFMA_16B, ACC, "BMN", 1, 1, 1,  1, 4, 16,  0, 16, 1,  1)                                                         \
  X(MFMA_32B, LHS, "BMK", 1, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                         \
  X(MFMA_32B, RHS, "BKN", 1, 1, 1,  2, 1, 32,  32, 0, 1,  1)                                                         \
  X(MFMA_32B, ACC, "BMN", 2, 4, 1,  1, 2, 32,  0, 32, 1,  1)                                                         \
  X(MFMA_4B_F64, LHS, "BMK", 1, 1, 1,  4, 4, 4,  4, 1, 16,  1)                                                       \
  X(MFMA_4B_F64, RHS, "BKN", 1, 1, 1,  4, 4, 4,  4, 16, 1,  1)                                                       \
  X(MFMA_4B_F64, ACC, "BMN", 1, 1, 1,  4, 4, 4,  4, 16, 1,  1)                                                       \
  X(WMMAR3, LHS, "MK", 1, 1, 1,  16, 1, 1,  1, 0, 0,  2)                                                             \
  X(WMMAR3, RHS, "KN", 1, 1, 1,  1, 16, 1,  0, 1, 0,  2)                                                             \
  X(WMMAR3, ACC, "MN", 8, 1, 1,  2, 16, 1,  16, 1, 0,  1)                                                            \
  X(WMMA, LHS, "MK", 1, 1, 1,  16, 2, 1,  1, 16, 0,  1)                                                              \
  X(WMMA, RHS, "KN", 1, 1, 1,  2, 16, 1,  16, 1, 0,  1)                                                              \
  X(WMMA, ACC, "MN", 1, 1, 1,  2, 16, 1,  16, 1, 0,  1)                                                              \
  X(MMA_SYNC, LHS, "MK", 2, 2, 1,  8, 4, 1,  4, 1, 0,  1)                                                            \
  X(MMA_SYNC, RHS, "KN", 2, 1, 1,  4, 8, 1,  1, 4, 0,  1)                                                            \
  X(MMA_SYNC, ACC, "MN", 2, 1, 1,  8, 4, 1,  4, 1, 0,  1)                                                            \
  X(VMFMA_16_F8, LHS, "MK", 1, 2, 1,  16, 4, 1,  1, 16, 0,  1)                                                       \
  X(VMFMA_16_F8, RHS, "KN", 2, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                       \
  X(VMFMA_16_F8, ACC, "MN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                       \
  X(VMFMA_32_F8, LHS, "MK", 1, 2, 1,  32, 2, 1,  1, 32, 0,  1)                                                       \
  X(VMFMA_32_F8, RHS, "KN", 2, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                       \
  X(VMFMA_32_F8, ACC, "MN", 4, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                       \
  X(VDMFMA, LHS, "MK", 1, 1, 1,  8, 4, 1,  2, 16, 0,  2)                                                             \
  X(VDMFMA, RHS, "KN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                            \
  X(VDMFMA, ACC, "MN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                            \
  X(SCALE_16, LHS, "MSV", 1, 1, 1,  16, 4, 1,  1, 16, 0,  1)                                                         \
  X(SCALE_16, RHS, "SVN", 1, 1, 1,  4, 1, 16,  16, 0, 1,  1)                                                         \
  X(SCALE_16, LHS_SCALE, "MS", 1, 1, 1,  16, 4, 1,  1, 16, 0,  1)                                                    \
  X(SCALE_16, RHS_SCALE, "SN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                    \
  X(SCALE_16, ACC, "MN", 1, 1, 1,  4, 16, 1,  16, 1, 0,  1)                                                          \
  X(SCALE_32, LHS, "MSV", 1, 1, 1,  32, 2, 1,  1, 32, 0,  1)                                                         \
  X(SCALE_32, RHS, "SVN", 1, 1, 1,  2, 1, 32,  32, 0, 1,  1)                                                         \
  X(SCALE_32, LHS_SCALE, "MS", 1, 1, 1,  32, 2, 1,  1, 32, 0,  1)                                                    \
  X(SCALE_32, RHS_SCALE, "SN", 1, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                    \
  X(SCALE_32, ACC, "MN", 4, 1, 1,  2, 32, 1,  32, 1, 0,  1)                                                          \
  X(MMA_SYNC_1, LHS, "MK", 2, 1, 1,  8, 4, 1,  4, 1, 0,  1)                                                          \
  X(MMA_SYNC_1, RHS, "KN", 1, 1, 1,  4, 8, 1,  1, 4, 0,  1)                                                          \
  X(MMA_SYNC_1, ACC, "MN", 2, 1, 1,  8, 4, 1,  4, 1, 0,  1)                                                          \
  X(MMA_SYNC_8, LHS, "MK", 1, 1, 1,  8, 4, 1,  4, 1, 0,  1)                                                          \
  X(MMA_SYNC_8, RHS, "KN", 1, 1, 1,  4, 8, 1,  1, 4, 0,  1)                                                          \
  X(MMA_SYNC_8, ACC, "MN", 1, 1, 1,  8, 4, 1,  4, 1, 0,  1)
/* clang-format on */

/* The columns are: name; group; family; IREE's number of the instruction in its family (0 in family PTX); number of lanes of a subgroup; M, N, K;
 * number of blocks; types of A, B, C. */
/* clang-format off */
#define SETT_MMA_INTRINSICS(X)                                                                                       \
  X(MFMA_F32_16x16x4_F32, MFMA_16, MMA, 0x1010, 64, 16, 16, 4, 1, "f32", "f32", "f32")                               \
  X(MFMA_F32_16x16x16_F16, MFMA_16, MMA, 0x1020, 64, 16, 16, 16, 1, "f16", "f16", "f32")                             \
  X(MFMA_F32_32x32x8_F16, MFMA_32, MMA, 0x1021, 64, 32, 32, 8, 1, "f16", "f16", "f32")                               \
  X(MFMA_I32_16x16x16_I8, MFMA_16, MMA, 0x10C0, 64, 16, 16, 16, 1, "i8", "i8", "i32")                                \
  X(MFMA_I32_32x32x8_I8, MFMA_32, MMA, 0x10C1, 64, 32, 32, 8, 1, "i8", "i8", "i32")                                  \
  X(MFMA_F32_16x16x8_BF16, MFMA_16, MMA, 0x1120, 64, 16, 16, 8, 1, "bf16", "bf16", "f32")                            \
  X(MFMA_F32_32x32x4_BF16, MFMA_32, MMA, 0x1121, 64, 32, 32, 4, 1, "bf16", "bf16", "f32")                            \
  X(MFMA_F64_16x16x4_F64, MFMA_16_F64, MMA, 0x1100, 64, 16, 16, 4, 1, "f64", "f64", "f64")                           \
  X(MFMA_F32_16x16x16_BF16, MFMA_16, MMA, 0x1220, 64, 16, 16, 16, 1, "bf16", "bf16", "f32")                          \
  X(MFMA_F32_32x32x8_BF16, MFMA_32, MMA, 0x1221, 64, 32, 32, 8, 1, "bf16", "bf16", "f32")                            \
  X(MFMA_F32_16x16x32_F8E5M2FNUZ, MFMA_16, MMA, 0x1230, 64, 16, 16, 32, 1, "f8e5m2fnuz", "f8e5m2fnuz", "f32")        \
  X(MFMA_F32_16x16x32_F8E5M2FNUZ_F8E4M3FNUZ, MFMA_16, MMA, 0x1231, 64, 16, 16, 32, 1, "f8e5m2fnuz", "f8e4m3fnuz", "f32")\
  X(MFMA_F32_16x16x32_F8E4M3FNUZ, MFMA_16, MMA, 0x1232, 64, 16, 16, 32, 1, "f8e4m3fnuz", "f8e4m3fnuz", "f32")        \
  X(MFMA_F32_16x16x32_F8E4M3FNUZ_F8E5M2FNUZ, MFMA_16, MMA, 0x1233, 64, 16, 16, 32, 1, "f8e4m3fnuz", "f8e5m2fnuz", "f32")\
  X(MFMA_F32_32x32x16_F8E5M2FNUZ, MFMA_32, MMA, 0x1234, 64, 32, 32, 16, 1, "f8e5m2fnuz", "f8e5m2fnuz", "f32")        \
  X(MFMA_F32_32x32x16_F8E5M2FNUZ_F8E4M3FNUZ, MFMA_32, MMA, 0x1235, 64, 32, 32, 16, 1, "f8e5m2fnuz", "f8e4m3fnuz", "f32")\
  X(MFMA_F32_32x32x16_F8E4M3FNUZ, MFMA_32, MMA, 0x1236, 64, 32, 32, 16, 1, "f8e4m3fnuz", "f8e4m3fnuz", "f32")        \
  X(MFMA_F32_32x32x16_F8E4M3FNUZ_F8E5M2FNUZ, MFMA_32, MMA, 0x1237, 64, 32, 32, 16, 1, "f8e4m3fnuz", "f8e5m2fnuz", "f32")\
  X(MFMA_I32_16x16x32_I8, MFMA_16, MMA, 0x12C0, 64, 16, 16, 32, 1, "i8", "i8", "i32")                                \
  X(MFMA_I32_32x32x16_I8, MFMA_32, MMA, 0x12C1, 64, 32, 32, 16, 1, "i8", "i8", "i32")                                \
  X(MFMA_F32_4x4x4x16B_F16, MFMA_4B, MMA, 0x1222, 64, 4, 4, 4, 16, "f16", "f16", "f32")                              \
  X(MFMA_F32_16x16x4x4B_F16, MFMA_16B, MMA, 0x1223, 64, 16, 16, 4, 4, "f16", "f16", "f32")                           \
  X(MFMA_F32_32x32x4x2B_F16, MFMA_32B, MMA, 0x1224, 64, 32, 32, 4, 2, "f16", "f16", "f32")                           \
  X(MFMA_F32_4x4x4x16B_BF16, MFMA_4B, MMA, 0x1225, 64, 4, 4, 4, 16, "bf16", "bf16", "f32")                           \
  X(MFMA_F32_16x16x4x4B_BF16, MFMA_16B, MMA, 0x1226, 64, 16, 16, 4, 4, "bf16", "bf16", "f32")                        \
  X(MFMA_F32_32x32x4x2B_BF16, MFMA_32B, MMA, 0x1227, 64, 32, 32, 4, 2, "bf16", "bf16", "f32")                        \
  X(MFMA_F32_4x4x1x16B_F32, MFMA_4B, MMA, 0x1210, 64, 4, 4, 1, 16, "f32", "f32", "f32")                              \
  X(MFMA_F32_16x16x1x4B_F32, MFMA_16B, MMA, 0x1211, 64, 16, 16, 1, 4, "f32", "f32", "f32")                           \
  X(MFMA_F32_32x32x1x2B_F32, MFMA_32B, MMA, 0x1212, 64, 32, 32, 1, 2, "f32", "f32", "f32")                           \
  X(MFMA_F64_4x4x4x4B_F64, MFMA_4B_F64, MMA, 0x1200, 64, 4, 4, 4, 4, "f64", "f64", "f64")                            \
  X(MFMA_I32_4x4x4x16B_I8, MFMA_4B, MMA, 0x12C2, 64, 4, 4, 4, 16, "i8", "i8", "i32")                                 \
  X(MFMA_I32_16x16x4x4B_I8, MFMA_16B, MMA, 0x12C3, 64, 16, 16, 4, 4, "i8", "i8", "i32")                              \
  X(MFMA_I32_32x32x4x2B_I8, MFMA_32B, MMA, 0x12C4, 64, 32, 32, 4, 2, "i8", "i8", "i32")                              \
  X(MFMA_F32_16x16x32_F16, MFMA_16, MMA, 0x1320, 64, 16, 16, 32, 1, "f16", "f16", "f32")                             \
  X(MFMA_F32_32x32x16_F16, MFMA_32, MMA, 0x1321, 64, 32, 32, 16, 1, "f16", "f16", "f32")                             \
  X(MFMA_F32_16x16x32_BF16, MFMA_16, MMA, 0x1322, 64, 16, 16, 32, 1, "bf16", "bf16", "f32")                          \
  X(MFMA_F32_32x32x16_BF16, MFMA_32, MMA, 0x1323, 64, 32, 32, 16, 1, "bf16", "bf16", "f32")                          \
  X(MFMA_F32_16x16x32_F8E5M2, MFMA_16, MMA, 0x1330, 64, 16, 16, 32, 1, "f8e5m2", "f8e5m2", "f32")                    \
  X(MFMA_F32_16x16x32_F8E5M2_F8E4M3FN, MFMA_16, MMA, 0x1331, 64, 16, 16, 32, 1, "f8e5m2", "f8e4m3fn", "f32")         \
  X(MFMA_F32_16x16x32_F8E4M3FN, MFMA_16, MMA, 0x1332, 64, 16, 16, 32, 1, "f8e4m3fn", "f8e4m3fn", "f32")              \
  X(MFMA_F32_16x16x32_F8E4M3FN_F8E5M2, MFMA_16, MMA, 0x1333, 64, 16, 16, 32, 1, "f8e4m3fn", "f8e5m2", "f32")         \
  X(MFMA_F32_32x32x16_F8E5M2, MFMA_32, MMA, 0x1334, 64, 32, 32, 16, 1, "f8e5m2", "f8e5m2", "f32")                    \
  X(MFMA_F32_32x32x16_F8E5M2_F8E4M3FN, MFMA_32, MMA, 0x1335, 64, 32, 32, 16, 1, "f8e5m2", "f8e4m3fn", "f32")         \
  X(MFMA_F32_32x32x16_F8E4M3FN, MFMA_32, MMA, 0x1336, 64, 32, 32, 16, 1, "f8e4m3fn", "f8e4m3fn", "f32")              \
  X(MFMA_F32_32x32x16_F8E4M3FN_F8E5M2, MFMA_32, MMA, 0x1337, 64, 32, 32, 16, 1, "f8e4m3fn", "f8e5m2", "f32")         \
  X(MFMA_F32_16x16x128_F8E5M2, MFMA_16, MMA, 0x1338, 64, 16, 16, 128, 1, "f8e5m2", "f8e5m2", "f32")                  \
  X(MFMA_F32_16x16x128_F8E5M2_F8E4M3FN, MFMA_16, MMA, 0x1339, 64, 16, 16, 128, 1, "f8e5m2", "f8e4m3fn", "f32")       \
  X(MFMA_F32_16x16x128_F8E4M3FN, MFMA_16, MMA, 0x133A, 64, 16, 16, 128, 1, "f8e4m3fn", "f8e4m3fn", "f32")            \
  X(MFMA_F32_16x16x128_F8E4M3FN_F8E5M2, MFMA_16, MMA, 0x133B, 64, 16, 16, 128, 1, "f8e4m3fn", "f8e5m2", "f32")       \
  X(MFMA_F32_32x32x64_F8E5M2, MFMA_32, MMA, 0x133C, 64, 32, 32, 64, 1, "f8e5m2", "f8e5m2", "f32")                    \
  X(MFMA_F32_32x32x64_F8E5M2_F8E4M3FN, MFMA_32, MMA, 0x133D, 64, 32, 32, 64, 1, "f8e5m2", "f8e4m3fn", "f32")         \
  X(MFMA_F32_32x32x64_F8E4M3FN, MFMA_32, MMA, 0x133E, 64, 32, 32, 64, 1, "f8e4m3fn", "f8e4m3fn", "f32")              \
  X(MFMA_F32_32x32x64_F8E4M3FN_F8E5M2, MFMA_32, MMA, 0x133F, 64, 32, 32, 64, 1, "f8e4m3fn", "f8e5m2", "f32")         \
  X(MFMA_I32_16x16x64_I8, MFMA_16, MMA, 0x13C0, 64, 16, 16, 64, 1, "i8", "i8", "i32")                                \
  X(MFMA_I32_32x32x32_I8, MFMA_32, MMA, 0x13C1, 64, 32, 32, 32, 1, "i8", "i8", "i32")                                \
  X(WMMAR3_F32_16x16x16_F16, WMMAR3, MMA, 0x1820, 32, 16, 16, 16, 1, "f16", "f16", "f32")                            \
  X(WMMAR3_F16_16x16x16_F16, WMMAR3, MMA, 0x1821, 32, 16, 16, 16, 1, "f16", "f16", "f16")                            \
  X(WMMAR3_F32_16x16x16_BF16, WMMAR3, MMA, 0x1822, 32, 16, 16, 16, 1, "bf16", "bf16", "f32")                         \
  X(WMMAR3_BF16_16x16x16_BF16, WMMAR3, MMA, 0x1823, 32, 16, 16, 16, 1, "bf16", "bf16", "bf16")                       \
  X(WMMAR3_I32_16x16x16_I8, WMMAR3, MMA, 0x18C0, 32, 16, 16, 16, 1, "i8", "i8", "i32")                               \
  X(WMMAR4_F32_16x16x16_F16, WMMA, MMA, 0x1920, 32, 16, 16, 16, 1, "f16", "f16", "f32")                              \
  X(WMMAR4_F16_16x16x16_F16, WMMA, MMA, 0x1921, 32, 16, 16, 16, 1, "f16", "f16", "f16")                              \
  X(WMMAR4_F32_16x16x16_BF16, WMMA, MMA, 0x1922, 32, 16, 16, 16, 1, "bf16", "bf16", "f32")                           \
  X(WMMAR4_BF16_16x16x16_BF16, WMMA, MMA, 0x1923, 32, 16, 16, 16, 1, "bf16", "bf16", "bf16")                         \
  X(WMMAR4_F32_16x16x16_F8E5M2, WMMA, MMA, 0x1930, 32, 16, 16, 16, 1, "f8e5m2", "f8e5m2", "f32")                     \
  X(WMMAR4_F32_16x16x16_F8E5M2_F8E4M3FN, WMMA, MMA, 0x1931, 32, 16, 16, 16, 1, "f8e5m2", "f8e4m3fn", "f32")          \
  X(WMMAR4_F32_16x16x16_F8E4M3FN, WMMA, MMA, 0x1932, 32, 16, 16, 16, 1, "f8e4m3fn", "f8e4m3fn", "f32")               \
  X(WMMAR4_F32_16x16x16_F8E4M3FN_F8E5M2, WMMA, MMA, 0x1933, 32, 16, 16, 16, 1, "f8e4m3fn", "f8e5m2", "f32")          \
  X(WMMAR4_I32_16x16x16_I8, WMMA, MMA, 0x19C0, 32, 16, 16, 16, 1, "i8", "i8", "i32")                                 \
  X(WMMA_F32_16x16x4_F32, WMMA, MMA, 0x1A10, 32, 16, 16, 4, 1, "f32", "f32", "f32")                                  \
  X(WMMA_F32_16x16x32_F16, WMMA, MMA, 0x1A20, 32, 16, 16, 32, 1, "f16", "f16", "f32")                                \
  X(WMMA_F32_16x16x32_BF16, WMMA, MMA, 0x1A21, 32, 16, 16, 32, 1, "bf16", "bf16", "f32")                             \
  X(WMMA_F16_16x16x32_F16, WMMA, MMA, 0x1A22, 32, 16, 16, 32, 1, "f16", "f16", "f16")                                \
  X(WMMA_BF16_16x16x32_BF16, WMMA, MMA, 0x1A23, 32, 16, 16, 32, 1, "bf16", "bf16", "bf16")                           \
  X(WMMA_F32_16x16x64_F8E4M3FN, WMMA, MMA, 0x1A30, 32, 16, 16, 64, 1, "f8e4m3fn", "f8e4m3fn", "f32")                 \
  X(WMMA_F32_16x16x64_F8E4M3FN_F8E5M2, WMMA, MMA, 0x1A31, 32, 16, 16, 64, 1, "f8e4m3fn", "f8e5m2", "f32")            \
  X(WMMA_F32_16x16x64_F8E5M2, WMMA, MMA, 0x1A32, 32, 16, 16, 64, 1, "f8e5m2", "f8e5m2", "f32")                       \
  X(WMMA_F32_16x16x64_F8E5M2_F8E4M3FN, WMMA, MMA, 0x1A33, 32, 16, 16, 64, 1, "f8e5m2", "f8e4m3fn", "f32")            \
  X(WMMA_F16_16x16x64_F8E4M3FN, WMMA, MMA, 0x1A34, 32, 16, 16, 64, 1, "f8e4m3fn", "f8e4m3fn", "f16")                 \
  X(WMMA_F16_16x16x64_F8E4M3FN_F8E5M2, WMMA, MMA, 0x1A35, 32, 16, 16, 64, 1, "f8e4m3fn", "f8e5m2", "f16")            \
  X(WMMA_F16_16x16x64_F8E5M2, WMMA, MMA, 0x1A36, 32, 16, 16, 64, 1, "f8e5m2", "f8e5m2", "f16")                       \
  X(WMMA_F16_16x16x64_F8E5M2_F8E4M3FN, WMMA, MMA, 0x1A37, 32, 16, 16, 64, 1, "f8e5m2", "f8e4m3fn", "f16")            \
  X(WMMA_I32_16x16x64_I8, WMMA, MMA, 0x1AC0, 32, 16, 16, 64, 1, "i8", "i8", "i32")                                   \
  X(WMMA_F32_16x16x128_F8E5M2, WMMA, MMA, 0x1A38, 32, 16, 16, 128, 1, "f8e5m2", "f8e5m2", "f32")                     \
  X(WMMA_F32_16x16x128_F8E5M2_F8E4M3FN, WMMA, MMA, 0x1A39, 32, 16, 16, 128, 1, "f8e5m2", "f8e4m3fn", "f32")          \
  X(WMMA_F32_16x16x128_F8E4M3FN, WMMA, MMA, 0x1A3A, 32, 16, 16, 128, 1, "f8e4m3fn", "f8e4m3fn", "f32")               \
  X(WMMA_F32_16x16x128_F8E4M3FN_F8E5M2, WMMA, MMA, 0x1A3B, 32, 16, 16, 128, 1, "f8e4m3fn", "f8e5m2", "f32")          \
  X(WMMA_F16_16x16x128_F8E5M2, WMMA, MMA, 0x1A3C, 32, 16, 16, 128, 1, "f8e5m2", "f8e5m2", "f16")                     \
  X(WMMA_F16_16x16x128_F8E5M2_F8E4M3FN, WMMA, MMA, 0x1A3D, 32, 16, 16, 128, 1, "f8e5m2", "f8e4m3fn", "f16")          \
  X(WMMA_F16_16x16x128_F8E4M3FN, WMMA, MMA, 0x1A3E, 32, 16, 16, 128, 1, "f8e4m3fn", "f8e4m3fn", "f16")               \
  X(WMMA_F16_16x16x128_F8E4M3FN_F8E5M2, WMMA, MMA, 0x1A3F, 32, 16, 16, 128, 1, "f8e4m3fn", "f8e5m2", "f16")          \
  X(NV_MMA_SYNC_F32_16x8x16_F16, MMA_SYNC, MMA, 0x2020, 32, 16, 8, 16, 1, "f16", "f16", "f32")                       \
  X(NV_MMA_SYNC_F16_16x8x16_F16, MMA_SYNC, MMA, 0x2021, 32, 16, 8, 16, 1, "f16", "f16", "f16")                       \
  X(NV_MMA_SYNC_F32_16x8x16_BF16, MMA_SYNC, MMA, 0x2022, 32, 16, 8, 16, 1, "bf16", "bf16", "f32")                    \
  X(NV_MMA_SYNC_F32_16x8x32_F8E4M3FN, MMA_SYNC, MMA, 0x2023, 32, 16, 8, 32, 1, "f8e4m3fn", "f8e4m3fn", "f32")        \
  X(NV_MMA_SYNC_F32_16x8x32_F8E5M2, MMA_SYNC, MMA, 0x2024, 32, 16, 8, 32, 1, "f8e5m2", "f8e5m2", "f32")              \
  X(NV_WMMA_F32_16x16x16_F16, OPAQUE, MMA, 0x2120, 32, 16, 16, 16, 1, "f16", "f16", "f32")                           \
  X(NV_WMMA_F16_16x16x16_F16, OPAQUE, MMA, 0x2121, 32, 16, 16, 16, 1, "f16", "f16", "f16")                           \
  X(VMFMA_F32_16x16x32_F16, MFMA_16, VIRTUAL, 0, 64, 16, 16, 32, 1, "f16", "f16", "f32")                             \
  X(VMFMA_F32_32x32x16_F16, MFMA_32, VIRTUAL, 1, 64, 32, 32, 16, 1, "f16", "f16", "f32")                             \
  X(VMFMA_F32_16x16x32_F8E4M3FNUZ, VMFMA_16_F8, VIRTUAL, 2, 64, 16, 16, 32, 1, "f8e4m3fnuz", "f8e4m3fnuz", "f32")    \
  X(VMFMA_F32_32x32x16_F8E4M3FNUZ, VMFMA_32_F8, VIRTUAL, 3, 64, 32, 32, 16, 1, "f8e4m3fnuz", "f8e4m3fnuz", "f32")    \
  X(VDMFMA_F32_8x16x64x2_F16, VDMFMA, VIRTUAL, 4, 64, 8, 16, 64, 1, "f16", "f16", "f32")                             \
  X(VDMFMA_F32_8x16x64x2_BF16, VDMFMA, VIRTUAL, 6, 64, 8, 16, 64, 1, "bf16", "bf16", "f32")                          \
  X(VDMFMA_I32_8x16x128x2_I8, VDMFMA, VIRTUAL, 5, 64, 8, 16, 128, 1, "i8", "i8", "i32")                              \
  X(VDMFMA_F32_8x16x128x2_F8E5M2FNUZ, VDMFMA, VIRTUAL, 7, 64, 8, 16, 128, 1, "f8e5m2fnuz", "f8e5m2fnuz", "f32")      \
  X(VDMFMA_F32_8x16x128x2_F8E5M2FNUZ_F8E4M3FNUZ, VDMFMA, VIRTUAL, 8, 64, 8, 16, 128, 1, "f8e5m2fnuz", "f8e4m3fnuz", "f32")\
  X(VDMFMA_F32_8x16x128x2_F8E4M3FNUZ_F8E5M2FNUZ, VDMFMA, VIRTUAL, 9, 64, 8, 16, 128, 1, "f8e4m3fnuz", "f8e5m2fnuz", "f32")\
  X(VDMFMA_F32_8x16x128x2_F8E4M3FNUZ, VDMFMA, VIRTUAL, 10, 64, 8, 16, 128, 1, "f8e4m3fnuz", "f8e4m3fnuz", "f32")     \
  X(VDMFMA_F32_8x16x64x1_F16, VDMFMA, VIRTUAL, 15, 64, 8, 16, 64, 1, "f16", "f16", "f32")                            \
  X(VDMFMA_F32_8x16x64x1_BF16, VDMFMA, VIRTUAL, 16, 64, 8, 16, 64, 1, "bf16", "bf16", "f32")                         \
  X(VDMFMA_I32_8x16x128x1_I8, VDMFMA, VIRTUAL, 17, 64, 8, 16, 128, 1, "i8", "i8", "i32")                             \
  X(VDMFMA_F32_8x16x128x1_F8E5M2, VDMFMA, VIRTUAL, 11, 64, 8, 16, 128, 1, "f8e5m2", "f8e5m2", "f32")                 \
  X(VDMFMA_F32_8x16x128x1_F8E5M2_F8E4M3FN, VDMFMA, VIRTUAL, 12, 64, 8, 16, 128, 1, "f8e5m2", "f8e4m3fn", "f32")      \
  X(VDMFMA_F32_8x16x128x1_F8E4M3FN_F8E5M2, VDMFMA, VIRTUAL, 13, 64, 8, 16, 128, 1, "f8e4m3fn", "f8e5m2", "f32")      \
  X(VDMFMA_F32_8x16x128x1_F8E4M3FN, VDMFMA, VIRTUAL, 14, 64, 8, 16, 128, 1, "f8e4m3fn", "f8e4m3fn", "f32")           \
  X(MFMA_SCALE_F32_16x16x128_B32, SCALE_16, SCALED, 0x1000, 64, 16, 16, 128, 1, "f8|f4", "f8|f4", "f32")             \
  X(MFMA_SCALE_F32_32x32x64_B32, SCALE_32, SCALED, 0x1001, 64, 32, 32, 64, 1, "f8|f4", "f8|f4", "f32")               \
  X(PTX_M16N8K8_F32_F16, MMA_SYNC_1, PTX, 0, 32, 16, 8, 8, 1, "f16", "f16", "f32")                                   \
  X(PTX_M16N8K8_F16_F16, MMA_SYNC_1, PTX, 0, 32, 16, 8, 8, 1, "f16", "f16", "f16")                                   \
  X(PTX_M16N8K8_F32_BF16, MMA_SYNC_1, PTX, 0, 32, 16, 8, 8, 1, "bf16", "bf16", "f32")                                \
  X(PTX_M16N8K4_F32_TF32, MMA_SYNC_1, PTX, 0, 32, 16, 8, 4, 1, "tf32", "tf32", "f32")                                \
  X(PTX_M16N8K8_F32_TF32, MMA_SYNC, PTX, 0, 32, 16, 8, 8, 1, "tf32", "tf32", "f32")                                  \
  X(PTX_M8N8K4_F64_F64, MMA_SYNC_8, PTX, 0, 32, 8, 8, 4, 1, "f64", "f64", "f64")                                     \
  X(PTX_M16N8K4_F64_F64, MMA_SYNC_1, PTX, 0, 32, 16, 8, 4, 1, "f64", "f64", "f64")                                   \
  X(PTX_M16N8K8_F64_F64, MMA_SYNC, PTX, 0, 32, 16, 8, 8, 1, "f64", "f64", "f64")                                     \
  X(PTX_M8N8K16_S32_S8, MMA_SYNC_8, PTX, 0, 32, 8, 8, 16, 1, "s8", "s8", "s32")                                      \
  X(PTX_M16N8K16_S32_S8, MMA_SYNC_1, PTX, 0, 32, 16, 8, 16, 1, "s8", "s8", "s32")                                    \
  X(PTX_M16N8K32_S32_S8, MMA_SYNC, PTX, 0, 32, 16, 8, 32, 1, "s8", "s8", "s32")                                      \
  X(PTX_M8N8K32_S32_S4, MMA_SYNC_8, PTX, 0, 32, 8, 8, 32, 1, "s4", "s4", "s32")                                      \
  X(PTX_M16N8K32_S32_S4, MMA_SYNC_1, PTX, 0, 32, 16, 8, 32, 1, "s4", "s4", "s32")                                    \
  X(PTX_M16N8K64_S32_S4, MMA_SYNC, PTX, 0, 32, 16, 8, 64, 1, "s4", "s4", "s32")
/* clang-format on */

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* The operands: A, B, C, the scales of A, the scales of B. */
enum { SETT_MMA_LHS, SETT_MMA_RHS, SETT_MMA_ACC, SETT_MMA_LHS_SCALE, SETT_MMA_RHS_SCALE, SETT_MMA_OPERAND_COUNT };
/* The families are three enumerations of IREE, and PTX. The enumerations list matrix instructions, virtual instructions (which IREE makes of other
 * instructions), and block-scaled instructions. */
enum { SETT_MMA_FAMILY_MMA, SETT_MMA_FAMILY_VIRTUAL, SETT_MMA_FAMILY_SCALED, SETT_MMA_FAMILY_PTX };
enum {
  SETT_MMA_GROUP_OPAQUE,
  SETT_MMA_GROUP_MFMA_16,
  SETT_MMA_GROUP_MFMA_16_F64,
  SETT_MMA_GROUP_MFMA_32,
  SETT_MMA_GROUP_MFMA_4B,
  SETT_MMA_GROUP_MFMA_16B,
  SETT_MMA_GROUP_MFMA_32B,
  SETT_MMA_GROUP_MFMA_4B_F64,
  SETT_MMA_GROUP_WMMAR3,
  SETT_MMA_GROUP_WMMA,
  SETT_MMA_GROUP_MMA_SYNC,
  SETT_MMA_GROUP_MMA_SYNC_1,
  SETT_MMA_GROUP_MMA_SYNC_8,
  SETT_MMA_GROUP_VMFMA_16_F8,
  SETT_MMA_GROUP_VMFMA_32_F8,
  SETT_MMA_GROUP_VDMFMA,
  SETT_MMA_GROUP_SCALE_16,
  SETT_MMA_GROUP_SCALE_32
};
enum {
#define SETTP_MMA_ENUM(name, group, family, code, lanes, m, n, k, blocks, a, b, c) SETT_MMA_##name,
  SETT_MMA_INTRINSICS(SETTP_MMA_ENUM) SETT_MMA_COUNT
#undef SETTP_MMA_ENUM
};

typedef struct sett_mma_intrinsic {
  const char *name; /* NULL if there is no instruction with this number */
  int family, group;
  int code;          /* IREE's number of the instruction in its family; 0 in family PTX */
  int subgroup_size; /* number of lanes of a subgroup */
  int m, n, k, blocks;
  const char *type[3]; /* element types of A, B and C */
} sett_mma_intrinsic;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Return the number of the instruction with this name, such as MFMA_F32_16x16x16_F16, or -1. The number is that of the enum: SETT_MMA_ and the name.
 * */
SETT_PUBLIC int sett_mma_find(const char *name, size_t length);
/* Return the description of an instruction. Its name is NULL if there is no instruction with this number. */
SETT_PUBLIC sett_mma_intrinsic sett_mma_get(int intrinsic);
/* Return the layout of an operand for one subgroup. Its dimensions are M,K for A, K,N for B and M,N for C. An instruction with several blocks has the
 * blocks as a further dimension in front of these. For scaled instructions, K is two dimensions S,V. The scales of A have the dimensions M,S; those of
 * B have S,N. */
SETT_PUBLIC sett_nested_layout sett_mma_layout(int intrinsic, int operand);
/* Return the layout that has the same elements in each lane, but with slots in the order in which PTX numbers the values of a fragment. This is
 * possible for mma.sync only. */
SETT_PUBLIC sett_nested_layout sett_mma_ptx_layout(int intrinsic, int operand);
/* Return the number of lanes that hold each element, or 0 if there is no layout. */
SETT_PUBLIC int sett_mma_lanes(int intrinsic, int operand);
/* Return the layout of an operand in a contraction, which is a nest of loops. The operand has `rank` dimensions, and dimension i is indexed by loop
 * map[i]. The loops are numbered from 0, the outermost first. Loop l has kind kinds[l] (the letter b, m, n or k) and bounds[l] iterations, and is
 * distributed over subgroups[l] subgroups. The instruction tiles the innermost loop of each kind; for scaled instructions, the innermost two loops of
 * kind k are S and V. */
SETT_PUBLIC sett_nested_layout sett_mma_contraction(int intrinsic, int operand, int loops, const char *kinds,
                                                    const int64_t *bounds, const int64_t *subgroups, int rank,
                                                    const int32_t *map);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_MMA_FUNCTIONS(X) \
  X(sett_mma_find) X(sett_mma_get) X(sett_mma_layout) X(sett_mma_ptx_layout) X(sett_mma_lanes) \
  X(sett_mma_contraction)
/* clang-format on */
SETT_MMA_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif

#if !defined(SETTP_MMA_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_MMA_BODIES

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_PUBLIC sett_mma_intrinsic sett_mma_get(int intrinsic) {
#ifdef __cplusplus
  sett_mma_intrinsic it = {};
#else
  sett_mma_intrinsic it = {0};
#endif
  switch (intrinsic) {
#define SETTP_MMA_CASE(row, the_group, the_family, the_code, the_lanes, the_m, the_n, the_k, the_blocks, a, b, c) \
  case SETT_MMA_##row:                                                                                            \
    it.name = #row;                                                                                               \
    it.group = SETT_MMA_GROUP_##the_group;                                                                        \
    it.family = SETT_MMA_FAMILY_##the_family;                                                                     \
    it.code = the_code;                                                                                           \
    it.subgroup_size = the_lanes;                                                                                 \
    it.m = the_m;                                                                                                 \
    it.n = the_n;                                                                                                 \
    it.k = the_k;                                                                                                 \
    it.blocks = the_blocks;                                                                                       \
    it.type[0] = a;                                                                                               \
    it.type[1] = b;                                                                                               \
    it.type[2] = c;                                                                                               \
    break;
    SETT_MMA_INTRINSICS(SETTP_MMA_CASE)
#undef SETTP_MMA_CASE
    default: break;
  }
  return it;
}

SETT_PUBLIC int sett_mma_find(const char *name, size_t length) {
  int i;
  size_t at;
  for (i = 0; i < SETT_MMA_COUNT; ++i) {
    const char *own = sett_mma_get(i).name;
    for (at = 0; at < length && own[at] && own[at] == name[at]; ++at) continue;
    if (at == length && !own[at]) return i;
  }
  return -1;
}

/* A row of the table: the layout of an operand in a group of instructions. */
typedef struct settp_mma_row {
  const char *dims; /* NULL if the group has no such operand */
  int outer[3], thread[3], stride[3], lanes;
} settp_mma_row;

/* The number of a pair (group, operand). */
#define SETTP_MMA_KEY(group, operand) ((int)(group) * (int)SETT_MMA_OPERAND_COUNT + (int)(operand))

SETT_INLINE settp_mma_row settp_mma_find_row(int group, int operand) {
#ifdef __cplusplus
  settp_mma_row row = {};
#else
  settp_mma_row row = {0};
#endif
  if (operand < 0 || operand >= SETT_MMA_OPERAND_COUNT) return row;
  switch (SETTP_MMA_KEY(group, operand)) {
#define SETTP_MMA_CASE(the_group, the_operand, the_dims, o0, o1, o2, t0, t1, t2, s0, s1, s2, the_lanes) \
  case SETTP_MMA_KEY(SETT_MMA_GROUP_##the_group, SETT_MMA_##the_operand):                               \
    row.dims = the_dims;                                                                                \
    row.outer[0] = o0, row.outer[1] = o1, row.outer[2] = o2;                                            \
    row.thread[0] = t0, row.thread[1] = t1, row.thread[2] = t2;                                         \
    row.stride[0] = s0, row.stride[1] = s1, row.stride[2] = s2;                                         \
    row.lanes = the_lanes;                                                                              \
    break;
    SETT_MMA_FRAGMENTS(SETTP_MMA_CASE)
#undef SETTP_MMA_CASE
    default: break;
  }
  return row;
}

SETT_INLINE int settp_mma_size(const sett_mma_intrinsic *it, char dim) {
  switch (dim) {
    case 'M': return it->m;
    case 'N': return it->n;
    case 'K': return it->k;
    case 'B': return it->blocks;
    case 'S': return it->k / 32;
    default: return 32; /* V, the number of elements per scale */
  }
}

SETT_PUBLIC sett_nested_layout sett_mma_layout(int intrinsic, int operand) {
  sett_mma_intrinsic it = sett_mma_get(intrinsic);
  settp_mma_row row = settp_mma_find_row(it.group, operand);
  sett_nested_layout layout;
  int d;
  if (!it.name) return settp_nested_fail(SETT_NESTED_ERROR_INTRINSIC, SETT_NESTED_UNKNOWN, 0);
  if (it.group == SETT_MMA_GROUP_OPAQUE) return settp_nested_fail(SETT_NESTED_ERROR_OPAQUE, SETT_NESTED_UNKNOWN, 0);
  if (!row.dims) return settp_nested_fail(SETT_NESTED_ERROR_OPERAND, SETT_NESTED_UNKNOWN, 0);
  layout = settp_nested_ones(0);
  for (d = 0; row.dims[d]; ++d) {
    layout.rank = d + 1;
    layout.field[SETT_NESTED_SUBGROUP][d] = layout.field[SETT_NESTED_BATCH][d] = 1;
    layout.field[SETT_NESTED_OUTER][d] = row.outer[d];
    layout.field[SETT_NESTED_THREAD][d] = row.thread[d];
    layout.field[SETT_NESTED_THREAD_STRIDE][d] = row.stride[d];
    layout.field[SETT_NESTED_ELEMENT][d] = settp_mma_size(&it, row.dims[d]) / (row.outer[d] * row.thread[d]);
  }
  return sett_nested_check(&layout);
}

SETT_PUBLIC sett_nested_layout sett_mma_ptx_layout(int intrinsic, int operand) {
  sett_nested_layout layout = sett_mma_layout(intrinsic, operand);
  int group = sett_mma_get(intrinsic).group;
  if (layout.error) return layout;
  if (group != SETT_MMA_GROUP_MMA_SYNC && group != SETT_MMA_GROUP_MMA_SYNC_1 && group != SETT_MMA_GROUP_MMA_SYNC_8)
    return settp_nested_fail(SETT_NESTED_ERROR_PTX, SETT_NESTED_UNKNOWN, 0);
  if (operand != SETT_MMA_LHS) return layout;
  /* the batch digit varies more slowly than the outer digit */
  layout.field[SETT_NESTED_BATCH][1] = layout.field[SETT_NESTED_OUTER][1];
  layout.field[SETT_NESTED_OUTER][1] = 1;
  return layout;
}

SETT_PUBLIC int sett_mma_lanes(int intrinsic, int operand) {
  sett_mma_intrinsic it = sett_mma_get(intrinsic);
  return it.name ? settp_mma_find_row(it.group, operand).lanes : 0;
}

SETT_PUBLIC sett_nested_layout sett_mma_contraction(int intrinsic, int operand, int loops, const char *kinds,
                                                    const int64_t *bounds, const int64_t *subgroups, int rank,
                                                    const int32_t *map) {
  sett_nested_layout fragment = sett_mma_layout(intrinsic, operand);
  settp_mma_row row;
  int32_t place[3];
  int d, l, used[4], i;
  if (fragment.error) return fragment;
  row = settp_mma_find_row(sett_mma_get(intrinsic).group, operand);
  for (i = 0; i < 4; ++i) used[i] = loops;
  for (l = 0; l < loops; ++l)
    if (kinds[l] != 'b' && kinds[l] != 'm' && kinds[l] != 'n' && kinds[l] != 'k')
      return settp_nested_fail(SETT_NESTED_ERROR_LOOPS, l, 0);
  /* from the innermost dimension outwards, each dimension takes the next loop of its kind (b, m, n or k) */
  for (d = fragment.rank; d-- > 0;) {
    char dim = row.dims[d], kind = dim == 'M' ? 'm' : dim == 'N' ? 'n' : dim == 'B' ? 'b' : 'k';
    i = kind == 'm' ? 0 : kind == 'n' ? 1 : kind == 'b' ? 2 : 3;
    for (l = used[i] - 1; l >= 0 && kinds[l] != kind; --l) continue;
    if (l < 0) return settp_nested_fail(SETT_NESTED_ERROR_LOOPS, SETT_NESTED_UNKNOWN, 0);
    /* S is the second innermost loop of kind k, because a scale has no dimension V */
    if (dim == 'S' && operand >= SETT_MMA_LHS_SCALE) {
      for (--l; l >= 0 && kinds[l] != kind; --l) continue;
      if (l < 0) return settp_nested_fail(SETT_NESTED_ERROR_LOOPS, SETT_NESTED_UNKNOWN, 0);
    }
    used[i] = l;
    place[d] = l;
  }
  return sett_nested_contract(&fragment, place, loops, bounds, subgroups, rank, map);
}
#endif /* bodies */
