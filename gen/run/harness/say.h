/* say.h - writes events to standard output: one JSON object per line, flushed at once. */
#ifndef SETT_HARNESS_SAY_H
#define SETT_HARNESS_SAY_H

/* Writes an event. The arguments are pairs of key and text, then NULL. A key that starts with # has a number as its
 * text (see say_number), and a key that starts with [ has an array of numbers. Returns 2, so that `return say(..)`
 * reports an error and passes on its exit status. */
int say(const char *event, ...);
/* Returns formatted text. It stays valid for about 60 further calls. */
const char *say_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns formatted text of up to 32 KiB, for build logs. It stays valid until the next call. */
const char *say_long(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *say_number(double value);

#endif
