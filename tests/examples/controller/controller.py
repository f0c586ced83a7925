"""A controller that looks 20 steps ahead: writes controller.hlo, which is all that the program needs of JAX."""

import jax
import jax.numpy as jnp

STEPS, HORIZON, TIME = 60, 20, 0.02


def controller(state, plan):
    """The force for a cart on a track, whose position and speed are `state`, and the plan of forces that it is the first of.

    The plan makes the sum of position^2 + 0.1 speed^2 + 0.01 force^2 small, with no force beyond 1; `plan` is what was planned before."""

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
