/* say.h - events: JSON objects, one in each line of standard output, written at once. */
#ifndef SETT_HARNESS_SAY_H
#define SETT_HARNESS_SAY_H

/* Takes pairs of key and text, terminated by NULL. The text of a key that starts with # is a number (say_number),
   with [ an array of numbers. Returns 2, so that an error can be reported and returned. */
int say(const char *event, ...);
/* Returns formatted text, which stays valid for about 60 further calls. */
const char *say_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns the same for build logs: up to 32 KiB, valid until the next call. */
const char *say_long(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *say_number(double value);

#endif
