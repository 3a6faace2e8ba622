#include "sim/log/schema.hpp"

#include <algorithm>

namespace onebit::sim {
namespace {

using Text = std::string_view;
using enum ColumnType;

// The type and shape of a column follow from the field that holds its values.
template <class Row>
constexpr Column row(Text group, Text name, Index Row::*field, Text units, Text doc) {
  return {group, name, int64, Shape::rows, units, doc, field};
}

template <class Row>
constexpr Column row(Text group, Text name, double Row::*field, Text units, Text doc) {
  return {group, name, float64, Shape::rows, units, doc, field};
}

constexpr Column row(Text group, Text name, std::vector<double> WorkerRow::*field, Text units, Text doc) {
  return {group, name, float64, Shape::rows_by_workers, units, doc, field};
}

constexpr Column row(Text group, Text name, std::vector<double> TensorRow::*field, Text units, Text doc) {
  return {group, name, float64, Shape::rows_by_tensors, units, doc, field};
}

constexpr Column row(Text group, Text name, ColumnType type, std::string Event::*field, Text doc) {
  return {group, name, type, Shape::rows, "", doc, field};
}

constexpr Column member(Text name, ColumnType type, Field field, Text units, Text doc) {
  return {"traffic", name, type, Shape::member, units, doc, field};
}

constexpr Column only(In logs, Column column) {
  column.logs = logs;
  return column;
}

constexpr Column since(Index generation, Column column) {
  column.since = generation;
  return column;
}

constexpr Column plain(Text group, Text name, ColumnType type, Shape shape, Text units, Text doc) {
  return {group, name, type, shape, units, doc, {}};
}

constexpr Column table[] = {
    plain("", "status", text16, Shape::scalar, "", "running, finished, stopped, diverged, failed or damaged"),
    plain("", "committed_rows", int64, Shape::scalar, "1",
          "number of complete rows of /steps; readers must ignore rows beyond it"),
    plain("committed", "workers", int64, Shape::scalar, "1", "number of complete rows of /workers"),
    plain("committed", "tensors", int64, Shape::scalar, "1", "number of complete rows of /tensors"),
    plain("committed", "probes", int64, Shape::scalar, "1", "number of complete rows of /probes"),
    plain("committed", "evaluations", int64, Shape::scalar, "1", "number of complete rows of /evaluations"),
    plain("committed", "events", int64, Shape::scalar, "1", "number of complete rows of /events"),
    plain("committed", "traffic", int64, Shape::scalar, "1", "number of complete rows of /traffic"),

    plain("model", "tensors", compound, Shape::tensors, "1",
          "tensors of the flat parameter vector: name, offset, size, rows"),

    row("steps", "step", &StepRow::step, "1", "number of the step"),
    row("steps", "samples", &StepRow::samples, "1", "training samples seen by all workers so far"),
    row("steps", "lr", &StepRow::lr, "1", "learning rate of the step"),
    row("steps", "loss", &StepRow::loss, "1", "training loss before the update, mean over workers"),
    row("steps", "param_norm", &StepRow::param_norm, "1",
        "l2 norm of the parameters; of the workers' mean if workers have their own"),
    row("steps", "grad_norm", &StepRow::grad_norm, "1",
        "l2 norm of the mean gradient; in compressed steps the root mean square of the workers' gradient norms, if "
        "clipping measures them"),
    row("steps", "clip_share", &StepRow::clip_share, "1", "share of gradients that were clipped"),
    row("steps", "update_norm", &StepRow::update_norm, "1",
        "l2 norm of the change of the parameters; root mean square over workers if they have their own parameters"),
    row("steps", "replica_distance", &StepRow::replica_distance, "1",
        "root mean square over workers of the l2 distance of their weights from the mean; NaN if they share weights"),
    row("steps", "momentum_norm", &StepRow::momentum_norm, "1",
        "l2 norm of the momentum; worker 0's if the workers' momenta differ"),
    row("steps", "variance_l1", &StepRow::variance_l1, "1",
        "l1 norm of the variance; worker 0's if the workers' variances differ"),
    row("steps", "variance_l2", &StepRow::variance_l2, "1",
        "l2 norm of the variance; worker 0's if the workers' variances differ"),
    row("steps", "variance_ratio", &StepRow::variance_ratio, "1",
        "min(r, 1/r) with r = norm of the variance divided by its norm `lag` steps earlier (attributes norm, lag); "
        "bias included"),
    since(1, row("steps", "variance_ratio_corrected", &StepRow::variance_ratio_corrected, "1",
                 "like variance_ratio, for the variance that preconditions the step: without its bias if bias "
                 "correction is on")),
    row("steps", "lr_drift", &StepRow::lr_drift, "1",
        "rate_drift of the step's row of /probes; only in the compression stage"),
    row("steps", "worker_error_norm", &StepRow::worker_error_norm, "1",
        "root mean square over workers of the l2 norm of their errors, at the steps of /workers"),
    row("steps", "server_error_norm", &StepRow::server_error_norm, "1", "l2 norm of the servers' feedback errors"),
    row("steps", "worker_codec_error", &StepRow::worker_codec_error, "1",
        "relative l2 error of the workers' codec, norm(y - C(y)) / norm(y), at the steps of /workers; NaN for codecs "
        "whose payloads are summed before decoding"),
    row("steps", "server_codec_error", &StepRow::server_codec_error, "1",
        "relative l2 error of the servers' codec, norm(y - C(y)) / norm(y), at the steps of /workers"),
    since(2, row("steps", "worker_mean_distance", &StepRow::worker_mean_distance, "1",
                 "norm(y - C(mean)) / norm(y), the relative distance of a worker's vector from what all workers "
                 "decode, averaged over workers, at the steps of /workers; only for codecs whose payloads are summed "
                 "before decoding")),
    since(
        3,
        row("steps", "worker_sent_share", &StepRow::worker_sent_share, "1",
            "nonzero elements that the workers' sparse codec sent, as a share of all elements, averaged over workers, "
            "at the steps of /workers; NaN for other codecs")),
    since(4, row("steps", "boundary_sent_share", &StepRow::boundary_sent_share, "1",
                 "nonzero activations that boundary.codec sends, as a share of the activations that have to cross the "
                 "boundary, at the steps of /workers; NaN for codecs that are not sparse")),
    since(4, row("steps", "boundary_forward_kept", &StepRow::boundary_forward_kept, "1",
                 "squared l2 norm of the activations that arrived through boundary.codec, divided by the squared l2 "
                 "norm of the activations that were to cross the boundary, at the steps of /workers")),
    since(4, row("steps", "boundary_backward_kept", &StepRow::boundary_backward_kept, "1",
                 "like boundary_forward_kept, for the gradients that return; NaN where none return")),
    since(4, row("steps", "boundary_gradient_cosine", &StepRow::boundary_gradient_cosine, "1",
                 "cosine of the angle between the mean gradients of the step with and without boundary.codec, "
                 "including the gradients of tables, at the steps of /workers")),
    row("steps", "sign_density", &StepRow::sign_density, "1",
        "share of positive elements in the momentum; only in the compression stage"),
    row("steps", "masked", &StepRow::masked, "1", "coordinates that are not updated because their variance is 0"),
    row("steps", "phase", &StepRow::phase, "",
        "0 dense, 1 warm-up stage, 2 compression stage, 3 dry run (deepspeed semantics), 4 local steps"),
    row("steps", "bytes_up", &StepRow::bytes_up, "byte", "bytes that one worker sends up in the step"),
    row("steps", "bytes_down", &StepRow::bytes_down, "byte", "bytes that one worker sends down in the step"),
    row("steps", "messages", &StepRow::messages, "1", "messages that one worker sends in the step"),
    row("steps", "wall_seconds", &StepRow::wall_seconds, "s", "wall time of the steps since the previous row"),
    row("steps", "compute_seconds", &StepRow::compute_seconds, "s",
        "part of wall_seconds spent on sampling, forward and backward passes"),
    row("steps", "codec_seconds", &StepRow::codec_seconds, "s", "part of wall_seconds spent on codecs and exchanges"),

    row("workers", "step", &WorkerRow::step, "1", "step of the row"),
    row("workers", "loss", &WorkerRow::loss, "1", "training loss of each worker"),
    row("workers", "error_norm", &WorkerRow::error_norm, "1", "l2 norm of each worker's feedback error"),

    row("tensors", "step", &TensorRow::step, "1", "step of the row"),
    row("tensors", "momentum_l2", &TensorRow::momentum_l2, "1", "l2 norm of the momentum of each tensor"),
    row("tensors", "variance_l1", &TensorRow::variance_l1, "1", "l1 norm of the variance of each tensor"),
    row("tensors", "variance_l2", &TensorRow::variance_l2, "1", "l2 norm of the variance of each tensor"),
    row("tensors", "trust_ratio", &TensorRow::trust_ratio, "1",
        "LAMB: clipped ratio of the norms of parameters and update; 1-bit LAMB: the coefficient in use"),
    row("tensors", "frozen_coefficient", &TensorRow::frozen_coefficient, "1",
        "1-bit LAMB: average trust ratio, kept fixed in the compression stage"),
    row("tensors", "coefficient_factor", &TensorRow::coefficient_factor, "1",
        "1-bit LAMB: factor r on the frozen coefficient"),
    row("tensors", "scaling_coefficient", &TensorRow::scaling_coefficient, "1",
        "1-bit LAMB: factor on the momentum before compression"),
    since(2, row("tensors", "least_denominator", &TensorRow::least_denominator, "1",
                 "smallest d = sqrt(v) + eps of each tensor, over coordinates whose variance is not 0")),
    since(2, row("tensors", "low_denominator", &TensorRow::low_denominator, "1",
                 "1st percentile of d over the same coordinates; for large tensors, of an evenly spread sample")),
    since(2, row("tensors", "median_denominator", &TensorRow::median_denominator, "1",
                 "median of d over the same coordinates or sample as low_denominator")),
    only(In::probed, row("tensors", "shadow_l1", &TensorRow::shadow_l1, "1",
                         "probed runs: l1 norm of each tensor of the shadow variance, which is never frozen")),

    row("probes", "step", &ProbeRow::step, "1", "step of the row; gradients are taken at the weights before this step"),
    row("probes", "gradient_square", &ProbeRow::gradient_square, "1",
        "squared l2 norm of the training loss's gradient, free of noise bias: dot product of two independent mean "
        "gradients"),
    row("probes", "scaled_gradient_square", &ProbeRow::scaled_gradient_square, "1",
        "like gradient_square, but each coordinate's term is divided by its denominator d = sqrt(v) + eps at the step"),
    row("probes", "least_denominator", &ProbeRow::least_denominator, "1",
        "smallest d over coordinates that are not masked"),
    row("probes", "worker_gradient_square", &ProbeRow::worker_gradient_square, "1",
        "mean over workers of the squared l2 norm of their gradients"),
    row("probes", "noise_square", &ProbeRow::noise_square, "1",
        "sigma^2 of a worker's batch gradient: mean over workers of half the squared l2 distance between two "
        "independent gradients"),
    row("probes", "heterogeneity_square", &ProbeRow::heterogeneity_square, "1",
        "zeta^2: mean over workers of the squared l2 distance of their expected gradients from the mean, with the part "
        "due to noise subtracted"),
    row("probes", "path_smoothness", &ProbeRow::path_smoothness, "1",
        "l2 norm of the change of the mean gradient over the step, on the same examples, divided by the length of the "
        "step"),
    row("probes", "smoothness", &ProbeRow::smoothness, "1",
        "largest curvature on the same examples, by power iteration with differences of gradients"),
    row("probes", "feedback_size", &ProbeRow::feedback_size, "1",
        "l2 norm of the input of the compressed exchange: the workers' mean vector plus all errors"),
    row("probes", "feedback_residual", &ProbeRow::feedback_residual, "1",
        "l2 norm of the difference between the input of the exchange and its result plus the new errors: only "
        "rounding, if nothing was lost"),
    row("probes", "residual_without_workers", &ProbeRow::residual_without_workers, "1",
        "feedback_residual as it would be without the workers' old errors"),
    row("probes", "residual_without_servers", &ProbeRow::residual_without_servers, "1",
        "feedback_residual as it would be without the servers' old errors"),
    only(In::rounded, row("probes", "feedback_rounding", &ProbeRow::feedback_rounding, "1",
                          "feedback.dtype bf16 or int8: l2 norm of the change that rounding made to the workers' mean "
                          "error; the residuals use the errors before rounding")),
    row("probes", "shadow_l1", &ProbeRow::shadow_l1, "1",
        "l1 norm of the shadow variance, which is never frozen; until the freeze, the l1 norm of the variance"),
    row("probes", "shadow_l2", &ProbeRow::shadow_l2, "1", "l2 norm of the shadow variance"),
    row("probes", "rate_drift", &ProbeRow::rate_drift, "1",
        "mean over coordinates of the absolute log of the ratio of two rates 1/(sqrt(v) + eps): after the freeze, the "
        "rates of the shadow and the frozen variance; before it, the rates of the variance at this row and at the "
        "previous row"),
    row("probes", "moved_share", &ProbeRow::moved_share, "1",
        "share of the coordinates whose sqrt(v) differs by more than probe.moved between the two variances of "
        "rate_drift"),

    row("evaluations", "step", &EvaluationRow::step, "1", "steps taken before the evaluation"),
    row("evaluations", "samples", &EvaluationRow::samples, "1", "training samples seen before the evaluation"),
    row("evaluations", "loss", &EvaluationRow::loss, "1",
        "loss on the held-out samples, or on the samples of eval.split"),
    row("evaluations", "accuracy", &EvaluationRow::accuracy, "1",
        "share of the evaluated samples that are classified correctly"),
    row("evaluations", "bytes", &EvaluationRow::bytes, "byte", "bytes that one worker sent before the evaluation"),
    since(3, row("evaluations", "auc", &EvaluationRow::auc, "1",
                 "area under the ROC curve on the evaluated samples; only for two classes")),
    since(3, row("evaluations", "boundary_loss", &EvaluationRow::boundary_loss, "1",
                 "like loss, but activations cross the model's boundary through its codec; only with boundary.codec")),
    since(3, row("evaluations", "boundary_auc", &EvaluationRow::boundary_auc, "1",
                 "like auc, but activations cross the model's boundary through its codec; only with boundary.codec")),

    row("events", "step", &Event::step, "1", "step of the event"),
    row("events", "kind", text16, &Event::kind,
        "freeze, tensor-freeze, floor, divergence, resume, masked, repair, stop or failure"),
    row("events", "text", text256, &Event::text, "the event in words"),

    plain("", "traffic", compound, Shape::rows, "", "one row per collective, as one worker sees it"),
    member("step", int64, &TrafficRow::step, "1", "step of the exchange"),
    member("collective", collective, &TrafficRow::collective, "", "all_reduce, all_to_all, all_gather or tree"),
    member("direction", direction, &TrafficRow::direction, "", "up, down or both"),
    member("dtype", wire_type, &TrafficRow::dtype, "", "type of the payload's elements: fp32, bits or packed"),
    member("group_size", int64, &TrafficRow::group_size, "1", "workers that take part"),
    member("messages", int64, &TrafficRow::messages, "1", "messages that one worker sends"),
    member("payload_bytes", int64, &TrafficRow::payload_bytes, "byte", "bytes that one worker hands to the collective"),
    member("tensor", int64, &TrafficRow::tensor, "",
           "row of /model/tensors; -1 for the fused vector, -2 for activations at a boundary, -3 for row numbers in "
           "tables"),
    member("overlaps_backward", uint8, &TrafficRow::overlaps_backward, "",
           "1 if the exchange may run during the backward pass"),
};

constexpr RowGroup groups[] = {
    {"steps", "committed_rows"},      {"workers", "committed/workers"},         {"tensors", "committed/tensors"},
    {"probes", "committed/probes"},   {"evaluations", "committed/evaluations"}, {"events", "committed/events"},
    {"traffic", "committed/traffic"},
};

}  // namespace

std::span<const Column> log_columns() {
  return table;
}

bool has(const LogHeader& header, const Column& column) {
  if (column.since > header.columns) return false;
  switch (column.logs) {
    case In::probed:
      return header.probed;
    case In::rounded:
      return header.rounded;
    case In::all:
      break;
  }
  return true;
}

std::span<const RowGroup> row_groups() {
  return groups;
}

std::string_view cut_text(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0u) == 0x80u) --bytes;
  return text.substr(0, bytes);
}

std::string path_of(const Column& column) {
  return column.group.empty() ? std::string(column.name) : std::string(column.group) + "/" + std::string(column.name);
}

const Column& log_column(std::string_view path) {
  return *std::ranges::find_if(log_columns(), [&](const Column& column) { return path_of(column) == path; });
}

bool is_end(const Event& event) {
  return event.kind == "divergence" || event.kind == "failure" || event.kind == "stop";
}

std::string reason_of_end(const std::vector<Event>& events) {
  const auto last = std::find_if(events.rbegin(), events.rend(),
                                 [](const Event& event) { return is_end(event) || event.kind == "resume"; });
  return last != events.rend() && is_end(*last) ? last->text : "";
}

}  // namespace onebit::sim
