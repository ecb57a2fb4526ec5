/* State between calls, which kernels never have. */
static int counter = 3;
int next(void) { return ++counter; }
