/* say.h - events: one JSON object a line on standard output, written at once. */
#ifndef SETT_HARNESS_SAY_H
#define SETT_HARNESS_SAY_H

/* Pairs of key and text to NULL; a key that starts with # has a number as its text (say_number), with [ an array of
   them. Returns 2, so that an error can be said and returned. */
int say(const char *event, ...);
/* Formatted text that stays until some 60 later calls. */
const char *say_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for build logs: up to 32 KiB, until the next call. */
const char *say_long(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *say_number(double value);

#endif
