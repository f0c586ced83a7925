/* A generated controller moves a cart to the middle of its track. */
#include <math.h>
#include <stdio.h>
#include <time.h>
#include "controller.h"

enum { CALLS = 500, HORIZON = controller_plan_LENGTH };

static double microseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(void) {
  float state[2] = {1.0f, 0.0f}, plans[2][HORIZON] = {{0}}, force = 0;
  double begun = microseconds();
  int i;

  for (i = 0; i < CALLS; ++i) {
    if (controller(state, plans[i % 2], &force, plans[(i + 1) % 2], NULL)) return 1;
    state[0] += 0.02f * state[1];
    state[1] += 0.02f * (force - 0.1f * state[1]);
  }
  printf("%.1f us a call\n", (microseconds() - begun) / CALLS);
  printf("after 10 seconds the cart is %.3f from the middle, at speed %.3f\n", (double)fabsf(state[0]), (double)fabsf(state[1]));
  return 0;
}
