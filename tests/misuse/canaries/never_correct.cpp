// expect: nowhere
int run() { return nowhere; }
