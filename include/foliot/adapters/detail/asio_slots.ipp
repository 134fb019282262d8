// How a handler's cancellation slot ends its wait. Included as asio_waits.ipp is, after it, where the library has
// cancellation slots.

/// What the handler's cancellation slot calls.
class asio_cancellation {
 public:
  explicit asio_cancellation(asio_wait& wait) : canceller_(wait.all) { canceller_.connect(wait); }
  void operator()(asio::cancellation_type_t type) {
    using kind = asio::cancellation_type;
    if (!!(type & (kind::terminal | kind::partial | kind::total))) canceller_.cancel();
  }

 private:
  asio_canceller canceller_;
};

/// The cancellation slot of a handler, which it has in Asio 1.19 and later.
template <class Handler>
class handler_slot {
 public:
  explicit handler_slot(const Handler& handler) noexcept : slot_(asio::get_associated_cancellation_slot(handler)) {}
  /// Makes the slot cancel the wait. Throws std::bad_alloc.
  void connect(asio_wait& wait) {
    if (slot_.is_connected()) slot_.template emplace<asio_cancellation>(wait);
  }

 private:
  asio::associated_cancellation_slot_t<Handler> slot_;
};
