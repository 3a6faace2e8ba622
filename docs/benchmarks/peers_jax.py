"""The step in JAX: vmap of grad and the compressed stage, jitted as one, the state donated."""
import jax
import jax.numpy as jnp

from peers_reference import BETA, EPS


def mlp_loss(params, x, labels):
    layers = len(params) // 2
    for i in range(layers):
        x = x @ params[f"weight{i}"] + params[f"bias{i}"]
        if i + 1 < layers:
            x = jax.nn.relu(x)
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[..., None], axis=-1).mean()


LOSSES = {"mlp": mlp_loss}


def compressed(vector):
    """The signs, times the root mean square."""
    scale = jnp.sqrt(jnp.mean(jnp.square(vector)))
    return jnp.where(vector >= 0, scale, -scale)


def step(loss, lr, state, x, labels):
    rows = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(state["params"], x, labels)
    new = {kind: {} for kind in state}
    for name, gradient in rows.items():
        wanted = BETA * state["momentum"][name] + (1 - BETA) * gradient + state["errors"][name]
        sent = jax.vmap(compressed)(wanted)
        at_server = sent.mean(0) + state["server"][name]
        momentum = compressed(at_server)
        new["errors"][name], new["server"][name], new["momentum"][name] = wanted - sent, at_server - momentum, momentum
        new["variance"][name] = state["variance"][name]
        new["params"][name] = state["params"][name] - lr * momentum / (jnp.sqrt(state["variance"][name]) + EPS)
    return new


class Step:
    """Call it for a step; `state` holds what it wrote."""

    def __init__(self, problem, state, lr, dtype=jnp.float32):
        self.state = jax.tree.map(lambda value: jnp.asarray(value, dtype), state)
        floating = problem.x.dtype.kind == "f"
        self._x = jnp.asarray(problem.x, dtype if floating else None)
        self._labels = jnp.asarray(problem.labels)
        loss = LOSSES[problem.name]
        self._step = jax.jit(lambda state, x, labels: step(loss, lr, state, x, labels), donate_argnums=0)

    def __call__(self):
        self.state = jax.block_until_ready(self._step(self.state, self._x, self._labels))
