#include "attnc/Files.h"
