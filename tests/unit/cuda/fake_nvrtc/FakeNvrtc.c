/* Stands for an NVRTC of version FAKE_MAJOR.FAKE_MINOR: can be opened and asked, not used. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = FAKE_MAJOR;
  *minor = FAKE_MINOR;
  return 0;
}

EXPORT int nvrtcGetNumSupportedArchs(int *count) {
  *count = 1;
  return 0;
}

EXPORT int nvrtcGetSupportedArchs(int *arches) {
  arches[0] = 80;
  return 0;
}

EXPORT const char *nvrtcGetErrorString(int code) { return "a fake NVRTC compiles nothing"; }

typedef void *Program;
EXPORT int nvrtcCreateProgram(Program *program, const char *text, const char *name, int count,
                              const char *const *headers, const char *const *names) {
  return 1;
}
EXPORT int nvrtcDestroyProgram(Program *program) { return 1; }
EXPORT int nvrtcCompileProgram(Program program, int count, const char *const *options) { return 1; }
EXPORT int nvrtcGetProgramLogSize(Program program, unsigned long *size) { return 1; }
EXPORT int nvrtcGetProgramLog(Program program, char *log) { return 1; }
EXPORT int nvrtcGetPTXSize(Program program, unsigned long *size) { return 1; }
EXPORT int nvrtcGetPTX(Program program, char *ptx) { return 1; }
EXPORT int nvrtcGetCUBINSize(Program program, unsigned long *size) { return 1; }
EXPORT int nvrtcGetCUBIN(Program program, char *cubin) { return 1; }
