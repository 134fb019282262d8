%% The workloads of `foliot bench` that other programs do, with Erlang's timers.
%%
%%     erl +S THREADS -noinput -run foliot_peer main WORKLOAD N THREADS MILLISECONDS [SEED]
%%
%% W5W1, W5W2: N timers, THREADS processes on as many schedulers, measured for MILLISECONDS after a warm-up;
%% they do what is described in bench/workloads/crew.hpp. A start is erlang:start_timer, a stop is
%% erlang:cancel_timer, which returns a result; a reset is both. W6-...: N sleeps, one after the other, by
%% erlang:start_timer and its message. Writes one line of JSON.
-module(foliot_peer).
-export([main/1]).

-define(HEARTBEAT, 30000).        % ms
-define(PER_LOOK, 256).           % operations between two looks at the clock
-define(LONGEST_WARM_UP, 300).    % ms
-define(FEWEST_WARM, 10000).      % operations
-define(SHORTEST, 20).            % ms: who asks for less wants no warm-up either

main([Workload, N, Threads, Milliseconds | Seed]) ->
    try
        answer(figure(Workload, number(N), number(Threads), number(Milliseconds), seed(Seed)))
    catch
        throw:Why -> refuse(Why)
    end;
main(_) ->
    refuse("usage: peer WORKLOAD N THREADS MILLISECONDS [SEED]").

refuse(Why) ->
    io:format(standard_error, "~s~n", [Why]),
    halt(2).

number(Text) ->
    case string:to_integer(Text) of
        {Value, []} when Value > 0 -> Value;
        _ -> throw("'" ++ Text ++ "' is no positive number")
    end.

seed([]) -> 1;
seed([Text]) -> number(Text);
seed(_) -> throw("too many arguments").

figure("W5W1", N, Threads, Milliseconds, Seed) -> cost(pairs, N, Threads, Milliseconds, Seed);
figure("W5W2", N, Threads, Milliseconds, Seed) -> cost(resets, N, Threads, Milliseconds, Seed);
figure("W6-1ms", N, _, _, _) -> {"lateness_ns", [lateness(1) || _ <- lists:seq(1, N)]};
figure("W6-10ms", N, _, _, _) -> {"lateness_ns", [lateness(10) || _ <- lists:seq(1, N)]};
figure(Workload, _, _, _, _) -> throw("there is no workload '" ++ Workload ++ "'").

answer({Name, Value}) ->
    io:format("{\"version\":\"OTP ~s\",\"~s\":~s}~n",
              [erlang:system_info(otp_release), Name, json(Value)]),
    halt(0).

json(Value) when is_float(Value) -> io_lib:format("~.4f", [Value]);
json(Values) -> ["[", lists:join(",", [integer_to_list(Each) || Each <- Values]), "]"].

now_ns() -> erlang:monotonic_time(nanosecond).

%% How late one sleep ends, in ns.
lateness(Length) ->
    Begin = now_ns(),
    Timer = erlang:start_timer(Length, self(), wake),
    receive {timeout, Timer, wake} -> now_ns() - Begin - Length * 1000000 end.

%% The ns of one operation of all processes together.
cost(Work, N, Threads, Milliseconds, Seed) ->
    Each = max(N div Threads, 1) + 1,    % and the idle one
    Main = self(),
    Members = [spawn_link(fun() -> member(Main, Work, Each, Milliseconds, Seed * 1000003 + Which) end)
               || Which <- lists:seq(0, Threads - 1)],
    gather(Members),
    gather(Members),
    {"ns", 1 / lists:sum([receive {rate, Member, Rate} -> Rate end || Member <- Members])}.

%% Returns when all processes are here. One that has to wait for a scheduler then waits within its time.
gather(Members) ->
    [receive {here, Member} -> ok end || Member <- Members],
    Begin = now_ns(),
    [Member ! {begin_at, Begin} || Member <- Members].

here(Main) ->
    Main ! {here, self()},
    receive {begin_at, Begin} -> Begin end.

member(Main, Work, Each, Milliseconds, Seed) ->
    put(random, Seed band 16#ffffffff),
    Timers = ets:new(timers, [private]),
    [ets:insert(Timers, {Place, start(length_of(Work))}) || Place <- lists:seq(0, Each - 2)],
    Warm = if Milliseconds < ?SHORTEST -> 64; true -> max(?FEWEST_WARM, Each) end,
    {_, Spare, _} = run(Work, Timers, Each, Each - 1, 0, here(Main), ?LONGEST_WARM_UP * 1000000, Warm),
    {Done, _, Passed} = run(Work, Timers, Each, Spare, 0, here(Main), Milliseconds * 1000000, infinity),
    Main ! {rate, self(), Done / Passed}.

run(Work, Timers, Each, Spare, Done, Begin, Length, Operations) ->
    NewSpare = turn(Work, Timers, Each, Spare, ?PER_LOOK),
    NewDone = Done + ?PER_LOOK,
    case now_ns() - Begin of
        %% An atom is greater than any number.
        Passed when Passed >= Length; NewDone >= Operations -> {NewDone, NewSpare, Passed};
        _ -> run(Work, Timers, Each, NewSpare, NewDone, Begin, Length, Operations)
    end.

turn(_, _, _, Spare, 0) -> Spare;
turn(pairs, Timers, Each, Spare, Left) ->
    ets:insert(Timers, {Spare, start(length_of(pairs))}),
    Next = random(Each),
    cancel(Timers, Next),
    turn(pairs, Timers, Each, Next, Left - 1);
turn(resets, Timers, Each, Spare, Left) ->
    Place = random(Each - 1),
    cancel(Timers, Place),
    ets:insert(Timers, {Place, start(?HEARTBEAT)}),
    turn(resets, Timers, Each, Spare, Left - 1).

start(Length) -> erlang:start_timer(Length, self(), fired).

cancel(Timers, Place) ->
    [{_, Timer}] = ets:lookup(Timers, Place),
    case erlang:cancel_timer(Timer) of
        false -> receive {timeout, Timer, fired} -> ok after 0 -> ok end;
        _ -> ok
    end.

%% ms, from 100 ms to 1 h.
length_of(resets) -> ?HEARTBEAT;
length_of(pairs) -> 100 + random(3600000 - 100).

%% A linear congruential generator of 32 bits, whose products stay small integers; the upper 24 bits are used.
random(Bound) ->
    Next = (get(random) * 1664525 + 1013904223) band 16#ffffffff,
    put(random, Next),
    (Next bsr 8) rem Bound.
