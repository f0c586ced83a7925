/* The part of C's library that the commands use. gen/playground/wasm.c implements it. */
#ifndef SETT_PLAYGROUND_STRING_H
#define SETT_PLAYGROUND_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
int memcmp(const void *a, const void *b, size_t count);
void *memchr(const void *of, int value, size_t count);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t count);
char *strchr(const char *text, int letter);
char *strrchr(const char *text, int letter);
char *strstr(const char *text, const char *part);
size_t strspn(const char *text, const char *of);
size_t strcspn(const char *text, const char *of);
#endif
