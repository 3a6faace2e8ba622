"""onebit.plot: the curves hold the logs' numbers, in the colours of the report."""
import re
import unittest

import matplotlib.pyplot as plt
import numpy as np
import onebit
from support import ROOT, SMALL, InFolder, program


class Pictures(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program(f"compare {SMALL} --steps 40 --optimizers adam,onebit-adam --freeze fixed:10 --eval.every 10 --seeds 2 "
                "--beta2 0.9 -o compare")
        cls.runs = onebit.load("compare")
        cls.addClassCleanup(plt.close, "all")

    def lines(self, axes):
        return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}

    def test_loss_is_the_mean_over_seeds_with_a_band(self):
        axes = onebit.plot.loss(self.runs)
        lines = self.lines(axes)
        self.assertEqual(list(lines), ["adam", "onebit-adam"])
        first, second = self.runs["onebit-adam-1"].evaluations, self.runs["onebit-adam-2"].evaluations
        np.testing.assert_allclose(lines["onebit-adam"].get_ydata(), (first.loss + second.loss) / 2)
        np.testing.assert_array_equal(lines["onebit-adam"].get_xdata(), [0, 10, 20, 30, 40])
        band = axes.collections[1].get_paths()[0].vertices[:, 1]
        self.assertAlmostEqual(band.min(), min(first.loss.min(), second.loss.min()))
        axes = onebit.plot.loss(self.runs, x="bytes")
        np.testing.assert_array_equal(self.lines(axes)["adam"].get_xdata(), self.runs["adam-1"].evaluations.bytes)
        with self.assertRaisesRegex(onebit.OnebitError, "no such axis: hours"):
            onebit.plot.loss(self.runs, x="hours")

    def test_bytes_fall_at_the_freeze(self):
        steps = self.runs["onebit-adam-1"].steps
        line = self.lines(onebit.plot.bytes(self.runs))["onebit-adam"]
        np.testing.assert_array_equal(line.get_ydata(), steps.bytes_up + steps.bytes_down)
        self.assertGreater(line.get_ydata()[9], 10 * line.get_ydata()[10])

    def test_variance_has_the_freeze(self):
        axes = onebit.plot.variance(self.runs["onebit-adam-1"])
        self.assertEqual(axes.lines[-1].get_xdata()[0], 10)
        self.assertEqual(axes.lines[-1].get_linestyle(), "--")
        steps = self.runs["onebit-adam-1"].steps.dropna(subset=["variance_ratio_corrected"])
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), steps.variance_ratio_corrected)

    def test_seconds_are_those_of_the_report(self):
        axes = onebit.plot.seconds(self.runs, cluster=["eth1", "ib100"])
        answer = onebit.report(self.runs, cluster=["eth1", "ib100"])
        bars = [bar.get_height() for bar in axes.patches]
        self.assertEqual(bars, [arm["seconds"][name]["mean"] for arm in answer["arms"] for name in ("eth1", "ib100")])

    def test_freeze_cost_has_the_intervals_of_the_validation(self):
        runs = onebit.validate(model="mlp", data="synthetic", workers=2, batch=4, threads=1, steps=40,
                               optimizer="onebit-adam", seeds=3, freeze_at=[10, 20], beta2=0.9, out="validation")
        axes = onebit.plot.freeze_cost(runs)
        means = [100 * row["freeze"]["mean"]["mean"] for row in runs.answer["rows"]]
        np.testing.assert_allclose(axes.lines[0].get_ydata().astype(float), means)
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(set(labels), {"frozen", "compressed", "margin"})
        with self.assertRaisesRegex(onebit.OnebitError, "no costs of freezing"):
            onebit.plot.freeze_cost(self.runs)

    def test_arms_that_diverged_leave_their_place_empty(self):
        bad = {"optimizer": "sgd", "lr": 1e30}
        runs = onebit.compare(model="mlp", data="synthetic", workers=2, batch=4, steps=20, out="diverged",
                              arm={"good": {"lr": 1e-2}, "bad": bad})
        labels = [text.get_text() for text in onebit.plot.seconds(runs).get_legend().get_texts()]
        self.assertEqual(labels, ["good", "bad (no run finished)"])
        validated = onebit.validate(model="mlp", data="synthetic", workers=2, batch=4, steps=30, seeds=3,
                                    optimizer="onebit-adam", freeze_at=[5, 20], arm={"bad": {"lr": 1e30}}, out="costs")
        axes = onebit.plot.freeze_cost(validated)
        self.assertIn("bad (diverged at 2 of 2 steps)", [text.get_text() for text in axes.get_legend().get_texts()])
        for data in (onebit.load("costs"), runs[0]):
            with self.assertRaisesRegex(onebit.OnebitError, "no costs of freezing.*loaded logs have no answer"):
                onebit.plot.freeze_cost(data)

    def test_arms_after_the_seventh_are_dashed(self):
        runs = onebit.sweep(model="mlp", data="synthetic", workers=1, batch=2, steps=2, out="many",
                            axis={"lr": [1e-3 * k for k in range(1, 10)]})
        lines = list(self.lines(onebit.plot.loss(runs)).values())
        looks = [(line.get_color(), line.get_linestyle()) for line in lines]
        self.assertEqual((len(set(looks)), looks[7]), (9, (looks[0][0], "--")))

    def test_paths_are_loaded(self):
        self.addCleanup(plt.close, "all")
        for path, runs in (("compare", self.runs), (self.runs[0].path, self.runs[0])):
            lines, expected = (onebit.plot.loss(data).lines for data in (path, runs))
            self.assertEqual([line.get_xydata().tolist() for line in lines],
                             [line.get_xydata().tolist() for line in expected])
        with self.assertRaisesRegex(onebit.OnebitError, r"no costs of freezing \(plot.freeze_cost\); give what"):
            onebit.plot.freeze_cost("compare")

    def test_axes_can_be_given(self):
        figure, axes = plt.subplots(1, 2)
        self.assertIs(onebit.plot.loss(self.runs[0], ax=axes[1]), axes[1])
        figure.savefig("two.png")

    def test_colours_are_those_of_the_page(self):
        script = (ROOT / "experiments/report/page/page.js").read_text()
        light = re.search(r"const light = \[(.*?)\]", script)[1]
        self.assertEqual(list(onebit.plot.COLOURS), re.findall(r'"(#\w+)"', light))


class Labels(InFolder):
    def test_arms_of_a_sweep_are_named_by_what_varies(self):
        program(f"sweep {SMALL} --steps 10 --axis optimizer=adam,sgd --axis lr=1e-3,1e-2 --seeds 2 -o sweep")
        axes = onebit.plot.loss(onebit.load("sweep"))
        labels = {text.get_text() for text in axes.get_legend().get_texts()}
        self.assertEqual(labels, {"adam, lr 0.001", "adam, lr 0.01", "sgd, lr 0.001", "sgd, lr 0.01"})

    def test_arms_of_several_folders_are_distinguished_by_their_settings(self):
        for folder, lr in (("A", "1e-3"), ("B", "1e-1")):
            program(f"compare {SMALL} --steps 10 --optimizers adam --lr {lr} -o {folder}")
        axes = onebit.plot.loss([*onebit.load("A"), *onebit.load("B")])
        self.assertEqual([line.get_label() for line in axes.lines], ["lr 0.001", "lr 0.1"])

    def test_a_sweep_over_seeds_is_one_curve(self):
        program(f"sweep {SMALL} --steps 10 --optimizers adam --axis seed=1,2,3 -o seeds")
        axes = onebit.plot.loss(onebit.load("seeds"))
        self.assertEqual([line.get_label() for line in axes.lines], ["adam"])
        self.assertEqual(len(axes.collections), 1)


class Interpolation(InFolder):
    def test_seeds_with_other_bytes_are_interpolated(self):
        for seed, freeze in ((1, 5), (2, 20)):
            program(f"run {SMALL} --steps 40 --optimizer onebit-adam --freeze fixed:{freeze} --eval.every 10 "
                    f"--seed {seed} --beta2 0.9 -o arm-{seed}.h5")
        first, second = (onebit.load(f"arm-{seed}.h5") for seed in (1, 2))
        second.config["freeze"] = first.config["freeze"]  # as if both had chosen their steps themselves
        second._settings["freeze"] = first._settings["freeze"]
        axes = onebit.plot.loss([first, second], x="bytes")
        mean, rest = axes.lines
        a, b = first.evaluations, second.evaluations
        places = sorted({*a.bytes, *b.bytes[b.bytes < a.bytes.max()]})
        np.testing.assert_array_equal(mean.get_xdata(), places)
        interpolated = [np.interp(places, each.bytes, each.loss) for each in (a, b)]
        np.testing.assert_allclose(mean.get_ydata(), np.mean(interpolated, axis=0))
        self.assertEqual(rest.get_xdata()[1:].tolist(), b.bytes[b.bytes > a.bytes.max()].tolist())
        self.assertEqual(rest.get_ydata()[1:].tolist(), b.loss[b.bytes > a.bytes.max()].tolist())


if __name__ == "__main__":
    unittest.main()
