/* What the second program's image starts, below dist/enclave/. */
#define MAIN "second-main.js"
#define VERIFIER "second/process.js"
