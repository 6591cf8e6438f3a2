// Constants that follow from the type of the operands, for kernels whose OPERAND is its name in PTX
// (bf16, f16, tf32, e4m3, e5m2 or s8) and STEP the elements of an instruction along k, 32 bytes.
#pragma once

#define JOINED_NAMES(x, y) x##y
#define JOINED(x, y) JOINED_NAMES(x, y)

// 1 after the names of the types that are such, nothing (which #if takes as 0) after the others.
#define IS_INTEGER_s8 1
#define IS_FLOAT8_e4m3 1
#define IS_FLOAT8_e5m2 1

// A sum in a register, its constraint in inline assembly, its name in an instruction, and the signs
// of the factors, which only products of floating-point numbers can have.
#if JOINED(IS_INTEGER_, OPERAND)
using Sum = int;
#define SUM_REGISTER "+r"
#define SUM_NAME "s32"
#define POSITIVE_FACTORS
#else
using Sum = float;
#define SUM_REGISTER "+f"
#define SUM_NAME "f32"
#define POSITIVE_FACTORS ", 1, 1"
#endif

// The tensor cores keep 14 significant bits of sums of 8-bit floats: such sums are added up in
// float32 registers after every tile of k.
#if JOINED(IS_FLOAT8_, OPERAND)
constexpr bool promotes_sums = true;
#else
constexpr bool promotes_sums = false;
#endif

constexpr int element_bytes = 32 / STEP;
