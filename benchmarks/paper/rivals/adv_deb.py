"""AdvDeb (Zhang, Lemoine, Mitchell 2018): AIF360's AdversarialDebiasing.

AIF360's adversary sees s, s * label and s * (1 - label), where s is a sigmoid of the classifier's logit: it aims at
equalized odds. It has no term of the label alone, though, so where the groups' shares of positives differ it also
reads the label out of s, and the classifier that fools it moves towards demographic parity (Adult does). Its classifier
has one hidden layer of 200. We choose the adversary's weight, and fewer and larger batches on large data, for time; the
rest, such as the learning rate, is AIF360's own.
"""

from __future__ import annotations

import contextlib
import io
import os

import numpy as np

from benchmarks.paper.method import Method, Rows, Setting, Split
from benchmarks.paper.rivals._fair_model import FairModel, training_rows

EPOCHS, BATCH = 50, 128  # AIF360's own
LARGE, LARGE_EPOCHS, LARGE_BATCH = 10_000, 25, 512  # from so many rows on
# COMPAS needs 1 or more to see an effect; 1 makes CelebA's model useless (accuracy 0.52). Seen on one split each.
WEIGHTS = {"compas": (0.1, 1.0, 3.0), "celeba": (0.01, 0.03, 0.1)}
OTHER_WEIGHTS = (0.01, 0.1, 1.0)


def dataset(rows: Rows):  # type: ignore[no-untyped-def]
    """The rows as AIF360 wants them. Its features would have the group among them, so they are given by hand."""
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset

    frame = pd.DataFrame({"group": rows.a.astype(np.float64), "label": rows.y.astype(np.float64)})
    data = BinaryLabelDataset(
        df=frame,
        label_names=["label"],
        protected_attribute_names=["group"],
        favorable_label=1.0,
        unfavorable_label=0.0,
    )
    data.features = rows.X
    return data


def fit(split: Split, _criterion: str, setting: Setting) -> FairModel:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf
    from aif360.algorithms.inprocessing import AdversarialDebiasing

    tf.disable_eager_execution()
    rows = training_rows(split)
    large = len(rows) >= LARGE
    one_thread = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    # A graph and a session of its own: nothing stays behind for the next fit.
    with tf.Graph().as_default(), tf.Session(config=one_thread) as session, contextlib.redirect_stdout(io.StringIO()):
        AdversarialDebiasing(
            unprivileged_groups=[{"group": 0.0}],
            privileged_groups=[{"group": 1.0}],
            scope_name="model",
            sess=session,
            seed=split.seed,
            adversary_loss_weight=setting["weight"],
            num_epochs=LARGE_EPOCHS if large else EPOCHS,
            batch_size=LARGE_BATCH if large else BATCH,
        ).fit(dataset(rows))
        weights = {part.name: session.run(part) for part in tf.trainable_variables("model/classifier_model")}
    w1, b1, w2, b2 = (weights[f"model/classifier_model/{name}:0"] for name in ("W1", "b1", "W2", "b2"))

    def score(rows: Rows) -> np.ndarray:
        """What AIF360's own `predict` puts through a sigmoid."""
        return (np.maximum(rows.X @ w1 + b1, 0) @ w2 + b2)[:, 0].astype(np.float64)

    return FairModel(score)


METHOD = Method(
    name="adv_deb",
    title="AdvDeb (AIF360)",
    kind="in",
    randomised=False,
    uses_group=False,
    criteria=("equalized_odds",),
    settings=lambda data, _criterion: [{"weight": weight} for weight in WEIGHTS.get(data, OTHER_WEIGHTS)],
    fit=fit,
    note="50 epochs of batches of 128, or 25 of 512 from 10,000 rows on; on CelebA 30,000 rows train it.",
)
