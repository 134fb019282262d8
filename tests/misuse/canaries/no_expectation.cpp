int run() { return nowhere; }
