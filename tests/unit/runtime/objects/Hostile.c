/* Reaches for a function that no kernel may call. */
int system(const char *);
int run(void) { return system("true"); }
