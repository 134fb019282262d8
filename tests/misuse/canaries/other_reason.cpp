// expect: a null callback
#ifndef CORRECT
int run() { return nowhere; }
#endif
