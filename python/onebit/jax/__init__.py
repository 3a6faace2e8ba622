"""JAX: your own functions as onebit's workers."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from onebit import worker
from onebit.worker import Arrays, Data

__all__ = ["Batch", "serve"]


class Batch(NamedTuple):
    """The examples of one worker, as arrays of jax; None: the data have none."""

    features: Any  # float32 [size, features]; of images [size, channels, height, width]
    tokens: Any  # int32 [size, context]
    labels: Any  # int32 [size]
    key: Any  # for the random numbers of this gradient; None in an evaluation


Initialize = Callable[[Any, Data], Any]
Loss = Callable[[Any, Batch], Any]


def _name(path: Any) -> str:
    """The name of a leaf, such as layers.0.weight."""
    parts: List[str] = []
    for entry in path:
        known = [getattr(entry, attribute) for attribute in ("key", "idx", "name") if hasattr(entry, attribute)]
        parts.append(str(known[0] if known else entry))
    return ".".join(parts) or "weights"


def _with_correct(loss: Loss) -> Callable[[Any, Batch], Tuple[Any, Any]]:
    """Returns a function for the mean loss and the number of correct examples, which is 0 if `loss` does not count."""
    def both(parameters: Any, batch: Batch) -> Tuple[Any, Any]:
        result = loss(parameters, batch)
        mean, correct = result if isinstance(result, tuple) else (result, 0)
        if jnp.shape(mean) != ():
            raise ValueError(f"the loss has the shape {jnp.shape(mean)}, expected one number: the mean over the batch")
        return mean, jnp.asarray(correct)
    return both


def _key(seed: int, step: int, worker: int, draw: int) -> Any:
    key = jax.random.PRNGKey(seed)
    for number in (step, worker, draw):
        key = jax.random.fold_in(key, number)
    return key


class _Served:
    """The model that answers onebit's requests."""

    def __init__(self, data: Data, initialize: Initialize, loss: Loss) -> None:
        if data.data == "none":
            raise ValueError("there are no data: give --data")
        self.data = data
        self.make = jax.jit(lambda key: initialize(key, data))
        leaves, self.tree = jax.tree_util.tree_flatten_with_path(jax.eval_shape(self.make, jax.random.PRNGKey(0)))
        self.tensors: Dict[str, Tuple[int, ...]] = {_name(path): tuple(leaf.shape) for path, leaf in leaves}
        if len(self.tensors) < len(leaves):
            raise ValueError(f"two parameters have the same name; the names are {sorted(self.tensors)}")
        for path, leaf in leaves:
            if leaf.dtype != np.float32:
                raise TypeError(f"{_name(path)} has the type {leaf.dtype}: workers train float32 weights")
        both = _with_correct(loss)
        self.value = jax.jit(both)  # compiled once for each shape of a batch
        self.value_and_gradient = jax.jit(jax.value_and_grad(both, has_aux=True))
        self.key = jax.jit(_key)

    def initialize(self, seed: int) -> Dict[str, Any]:
        return self._arrays(self.make(jax.random.PRNGKey(seed)))

    def gradients(self, weights: Arrays, batch: worker.Batch) -> Tuple[float, Dict[str, Any]]:
        key = self.key(batch.seed, batch.step, batch.worker, batch.draw)
        (loss, _), gradients = self.value_and_gradient(self._parameters(weights), self._batch(batch, key))
        return float(loss), self._arrays(gradients)

    def evaluate(self, weights: Arrays, batch: worker.Batch) -> Tuple[float, int, int]:
        loss, correct = self.value(self._parameters(weights), self._batch(batch, None))
        return float(loss) * batch.size, int(correct), batch.size

    def _parameters(self, weights: Arrays) -> Any:
        return jax.tree_util.tree_unflatten(self.tree, [weights[name] for name in self.tensors])

    def _arrays(self, tree: Any) -> Dict[str, Any]:
        return dict(zip(self.tensors, map(np.asarray, jax.tree_util.tree_leaves(tree))))

    def _batch(self, batch: worker.Batch, key: Any) -> Batch:
        features, labels = batch.features, batch.labels
        if features is not None and self.data.channels:
            features = features.reshape(batch.size, self.data.channels, self.data.height, self.data.width)
        if labels is not None and self.data.targets == 1:
            labels = labels[:, 0]
        return Batch(features, batch.tokens, labels, key)


def serve(initialize: Initialize, loss: Loss) -> None:
    """Lets onebit train a JAX function: answers onebit's requests until onebit closes the input.

    initialize: a function of a random key, jax.random.PRNGKey(seed), and the `onebit.worker.Data` of the run. It
        returns the initial parameters, a tree of float32 arrays.
    loss: a pure function of the parameters and a `Batch`. It returns the mean loss over the batch, or a pair of this
        mean and the number of correct examples. It is compiled once for each shape of a batch.

    `Batch.key` is derived from seed, step, worker and draw, so a run is reproducible for any --worker-group and
    --devices. In an evaluation it is None: leave dropout out.
    """
    worker.serve(lambda data: _Served(data, initialize, loss))
