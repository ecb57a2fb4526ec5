// Marks what libattnc exports; everything else is hidden.
#pragma once
#define ATTNC_EXPORT __attribute__((visibility("default")))
