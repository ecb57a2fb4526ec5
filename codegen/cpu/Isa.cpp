#include "codegen/cpu/KernelConfig.h"
