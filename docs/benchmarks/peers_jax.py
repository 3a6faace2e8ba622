"""The step in JAX: vmap of grad and the compressed stage, jitted as one function that donates the state."""
import functools

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


def bert_loss(params, tokens, places, labels, heads):
    def linear(name, x):
        return x @ params[name + ".weight"] + params[name + ".bias"]

    def normalised(name, x):
        return jax.nn.standardize(x, epsilon=1e-5) * params[name + ".scale"] + params[name + ".shift"]

    def attention(qkv):
        q, k, v = jnp.moveaxis(qkv.reshape(*qkv.shape[:-1], 3, heads, -1), -3, 0)
        return jax.nn.dot_product_attention(q, k, v).reshape(*qkv.shape[:-1], -1)

    gelu = functools.partial(jax.nn.gelu, approximate=False)
    x = normalised("norm", params["embedding"][tokens] + params["positions"])
    for i in range(sum(name.endswith("qkv.weight") for name in params)):
        x = normalised(f"{i}.norm1", x + linear(f"{i}.attended", attention(linear(f"{i}.qkv", x))))
        x = normalised(f"{i}.norm2", x + linear(f"{i}.out", gelu(linear(f"{i}.in", x))))
    x = jnp.take_along_axis(x, places[..., None], axis=1)  # other positions predict nothing
    x = normalised("transform.norm", gelu(linear("transform", x)))
    log_p = jax.nn.log_softmax(x @ params["embedding"].T + params["logits.bias"])
    return -jnp.take_along_axis(log_p, labels[..., None], axis=-1).mean()


def loss_of(problem):
    return functools.partial(bert_loss, heads=problem.heads) if problem.heads else mlp_loss


def compressed(vector):
    """The signs times the root mean square."""
    scale = jnp.sqrt(jnp.mean(jnp.square(vector)))
    return jnp.where(vector >= 0, scale, -scale)


def step(loss, lr, state, inputs):
    gradient_of = jax.vmap(lambda params, own: jax.grad(loss)(params, *own), in_axes=(None, 0))
    rows = gradient_of(state["params"], inputs)
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
    """Each call runs one step; `state` holds the result."""

    def __init__(self, problem, state, lr, dtype=jnp.float32):
        self.state = jax.tree.map(lambda value: jnp.asarray(value, dtype), state)
        self._inputs = tuple(jnp.asarray(each, dtype if each.dtype.kind == "f" else None) for each in problem.inputs)
        loss = loss_of(problem)
        self._step = jax.jit(lambda state, inputs: step(loss, lr, state, inputs), donate_argnums=0)

    def __call__(self):
        self.state = jax.block_until_ready(self._step(self.state, self._inputs))
