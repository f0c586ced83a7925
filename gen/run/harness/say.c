#define _DEFAULT_SOURCE
#include "say.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *slot(size_t *size)
{
  static char slots[64][2048];
  static unsigned next;
  *size = sizeof slots[0];
  return slots[next++ % 64];
}

const char *say_text(const char *format, ...)
{
  size_t size;
  char *to = slot(&size);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to, size, format, arguments);
  va_end(arguments);
  return to;
}

const char *say_long(const char *format, ...)
{
  static char text[1 << 15];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

const char *say_number(double value)
{
  if (isnan(value)) return "NaN";
  if (isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return say_text("%.17g", value);
}

static char line[1 << 17];
static size_t used;

static void put(const char *text)
{
  size_t size = strlen(text);
  if (used + size < sizeof line) memcpy(line + used, text, size), used += size;
}

static void put_string(const char *text)
{
  char one[8];
  put("\"");
  for (; *text; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') snprintf(one, sizeof one, "\\%c", c);
    else if (c < 32 || c >= 127) snprintf(one, sizeof one, "\\u%04x", c);
    else one[0] = (char)c, one[1] = 0;
    put(one);
  }
  put("\"");
}

int say(const char *event, ...)
{
  va_list arguments;
  const char *key;
  used = 0;
  put("{\"event\": ");
  put_string(event);
  va_start(arguments, event);
  while ((key = va_arg(arguments, const char *)) != NULL) {
    const char *value = va_arg(arguments, const char *);
    int plain = *key == '#' || *key == '[';
    put(", ");
    put_string(key + plain);
    put(": ");
    if (plain) put(value);
    else put_string(value);
  }
  va_end(arguments);
  put("}\n");
  for (size_t done = 0; done < used;) {
    ssize_t wrote = write(STDOUT_FILENO, line + done, used - done);
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  return 2;
}
