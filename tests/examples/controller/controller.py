"""A controller that plans 20 steps ahead. It writes controller.hlo, which is all that the C program needs of JAX."""

import jax
import jax.numpy as jnp

STEPS, HORIZON, TIME = 60, 20, 0.02


def controller(state, plan):
    """Return the next force on a cart on a track, and the plan of 20 forces that begins with it. `state` is the cart's
    position and speed, `plan` the plan of the previous step.

    The plan minimises the sum of position^2 + 0.1 speed^2 + 0.01 force^2, with forces in [-1, 1].
    """

    def ahead(forces):
        def step(at, force):
            at = jnp.stack([at[0] + TIME * at[1], at[1] + TIME * (force - 0.1 * at[1])])
            return at, at[0] ** 2 + 0.1 * at[1] ** 2 + 0.01 * force ** 2
        return jax.lax.scan(step, state, forces)[1].sum()

    def improved(_, forces):
        return jnp.clip(forces - 20.0 * jax.grad(ahead)(forces), -1.0, 1.0)

    plan = jax.lax.fori_loop(0, STEPS, improved, jnp.roll(plan, -1))
    return plan[0], plan


if __name__ == "__main__":
    shapes = [jax.ShapeDtypeStruct(dims, jnp.float32) for dims in ((2,), (HORIZON,))]
    open("controller.hlo", "w").write(jax.jit(controller).lower(*shapes).as_text("hlo"))
