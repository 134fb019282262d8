// expect: anything
int run() { return 0; }
