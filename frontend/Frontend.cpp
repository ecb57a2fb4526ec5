#include "ir/Program.h"
