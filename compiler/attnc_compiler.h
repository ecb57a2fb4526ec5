/* C interface of libattnc_compiler.so, the one library that contains MLIR and LLVM.
 * The runtime opens it with dlopen the first time something must be compiled. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attnc_result attnc_result;

/* Compiles one variant.
 *   text     the variant in the attn dialect's text form, locations included
 *   config   JSON of attnc::cpu::KernelConfig; may be "" for the stages before a target
 *   stage    "attn"    after simplification and mask extraction, as text
 *            "staged"  after the dependence split, as text
 *            "vector"  the tile kernel in the vector and scf dialects, as text
 *            "llvm"    optimised LLVM IR, as text
 *            "asm"     assembly, as text
 *            "object"  a relocatable ELF object
 *            "cuda"    CUDA C++ for NVRTC; here the configuration is attnc::cuda::KernelConfig's
 * Never null. Safe to call from many threads at once. */
attnc_result *attnc_compile(const char *text, size_t text_size, const char *config, const char *stage);

int attnc_result_ok(const attnc_result *result);
const char *attnc_result_bytes(const attnc_result *result, size_t *size);
/* With "object": JSON {"variant": text after simplification, "schedules": [ScheduleInfo],
 * "timings_ms": {...}}. With "cuda": {"variant": ..., "block_m": queries of a CTA, "block_n": keys
 * of a tile, "threads": of a CTA, "shared_bytes": dynamic ones of a CTA}. Otherwise "". */
const char *attnc_result_info(const attnc_result *result);
/* Diagnostics, "file:line:column: error: text". */
size_t attnc_result_message_count(const attnc_result *result);
const char *attnc_result_message(const attnc_result *result, size_t index);
void attnc_result_free(attnc_result *result);

/* Version of the interface and a string naming the compiler build ("attnc 0.1 llvm 22.1.8"). */
int attnc_compiler_abi(void);
const char *attnc_compiler_build(void);

#ifdef __cplusplus
}
#endif
