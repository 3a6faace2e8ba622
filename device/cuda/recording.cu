// Recordings as CUDA graphs. Work launched on a stream between the start and the end of a capture does not run but
// becomes a graph. Buffers allocated during the capture have their own addresses, which are the same whenever the graph
// runs.

#include "device/cuda/context.cuh"

namespace onebit::device::cuda {
namespace {

using Graph = Owned<cudaGraph_t, &cudaGraphDestroy>;
using RunnableGraph = Owned<cudaGraphExec_t, &cudaGraphExecDestroy>;

/// Records what this thread launches on the context's stream during this object's lifetime.
class Capture {
 public:
  explicit Capture(Context& context) : context_(context) {
    check(cudaStreamBeginCapture(context.stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    context_.set_recording(true);
  }
  /// If the work has thrown, ends the capture, so that the stream can be used again.
  ~Capture() {
    if (!context_.recording()) return;
    context_.set_recording(false);
    Graph unfinished;
    ignore(cudaStreamEndCapture(context_.stream(), unfinished.out()));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void finish(Graph& graph) {
    context_.set_recording(false);
    check(cudaStreamEndCapture(context_.stream(), graph.out()), "cudaStreamEndCapture");
  }

 private:
  Context& context_;
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(std::shared_ptr<Context> context, const std::function<void()>& work)
      : context_(std::move(context)), workspaces_(context_->workspaces()) {
    context_->make_current();
    Graph graph;
    record(work, graph);
    context_->with_memory("cudaGraphInstantiate", [&] { return cudaGraphInstantiate(graph_.out(), graph.get(), 0); });
  }
  /// The graph may still be running; CUDA frees it when it is done.
  ~GraphRecording() override { ignore(cudaSetDevice(context_->ordinal())); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  bool valid() const override { return workspaces_ == context_->workspaces(); }
  void start() const override {
    context_->make_current();
    context_->with_memory("cudaGraphLaunch", [&] { return cudaGraphLaunch(graph_.get(), context_->stream()); });
  }

 private:
  void record(const std::function<void()>& work, Graph& graph) {
    Capture capture(*context_);
    work();
    capture.finish(graph);
  }

  GraphsInUse in_use_;
  std::shared_ptr<Context> context_;
  Index workspaces_;
  RunnableGraph graph_;
};

}  // namespace

std::shared_ptr<const Recording> Queue::record(const std::function<void()>& work) const {
  return std::make_shared<GraphRecording>(context_, work);
}

}  // namespace onebit::device::cuda
