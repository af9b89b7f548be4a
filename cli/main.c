/* main.c -- the command table. */
#include "cli.h"

int main(void) { return 0; }
