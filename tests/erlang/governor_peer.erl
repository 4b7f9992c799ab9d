%% An Erlang/OTP diameter node that generates requests or answers them.
%%
%% Arguments are key=value: mode=client|server identity realm address port, and
%%   client: destination_realm, destination_host (optional), count, concurrency, timeout_ms
%%   server: result_code, delay_ms, silent (0|1), origin_host (default: identity)
%%   both:   watchdog_ms (6000 or more)
%% address and port are the server's own, or where the client connects to. What happens is told on standard output, a
%% JSON object a line: {"event":"up"}, {"event":"down"}, and at the end {"event":"done", counts}.
-module(governor_peer).
-behaviour(gen_event).

-export([main/1]).
%% diameter callbacks
-export([peer_up/3, peer_down/3, pick_peer/4, prepare_request/3, prepare_retransmit/3, handle_answer/4, handle_error/4,
         handle_request/3]).
%% SIGTERM
-export([init/1, handle_event/2, handle_call/2]).

-define(SERVICE, governor_peer).
-define(APPLICATION, 16777251).

%% As in diameter.hrl, which Debian keeps in another package.
-record(diameter_packet, {header, avps, msg, bin, errors = [], transport_data}).
-record(diameter_header, {version, length, cmd_code, application_id, hop_by_hop_id, end_to_end_id, is_request,
                          is_proxiable, is_error, is_retransmitted}).

main(Arguments) ->
    Options = maps:from_list([split(A) || A <- Arguments]),
    persistent_term:put(?MODULE, Options),
    dictionary(filename:dirname(code:which(?MODULE))),
    ets:new(?MODULE, [named_table, public, {write_concurrency, true}]),
    ok = gen_event:swap_sup_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
    ok = diameter:start(),
    ok = diameter:start_service(?SERVICE, service()),
    {ok, _} = diameter:add_transport(?SERVICE, transport(text(mode))),
    case text(mode) of
        "client" -> spawn(fun client/0);
        "server" -> io:format("{\"event\":\"listening\"}~n")
    end,
    timer:sleep(infinity).

split(Argument) ->
    [Key, Value] = string:split(Argument, "="),
    {list_to_atom(Key), Value}.

text(Key) ->
    maps:get(Key, persistent_term:get(?MODULE)).

text(Key, Default) ->
    maps:get(Key, persistent_term:get(?MODULE), Default).

number(Key, Default) ->
    list_to_integer(text(Key, integer_to_list(Default))).

%% The dictionary is compiled at each start: no generated file to keep.
dictionary(Directory) ->
    {ok, [Forms | _]} = diameter_make:codec(filename:join(Directory, "governor_test.dia"), [forms, return]),
    {ok, Module, Binary, _} = compile:forms(Forms, [return]),
    {module, Module} = code:load_binary(Module, "governor_test.dia", Binary).

service() ->
    [{'Origin-Host', text(identity)},
     {'Origin-Realm', text(realm)},
     {'Vendor-Id', 0},
     {'Product-Name', "OTP"},
     {'Auth-Application-Id', [?APPLICATION]},
     {decode_format, map},
     {string_decode, false},
     {restrict_connections, false},
     {application, [{alias, test}, {dictionary, governor_test}, {module, ?MODULE}]}].

transport("client") ->
    {connect, [{transport_module, diameter_tcp},
               {transport_config, [{raddr, address()}, {rport, number(port, 3868)}, {ip, address()}]},
               {connect_timer, 1000},
               {watchdog_timer, number(watchdog_ms, 6000)}]};
transport("server") ->
    {listen, [{transport_module, diameter_tcp},
              {transport_config, [{ip, address()}, {port, number(port, 3868)}, {reuseaddr, true}]},
              {watchdog_timer, number(watchdog_ms, 6000)}]}.

address() ->
    {ok, Address} = inet:parse_address(text(address)),
    Address.

count(Key) ->
    ets:update_counter(?MODULE, Key, 1, {Key, 0}).

counted(Key) ->
    case ets:lookup(?MODULE, Key) of
        [{_, N}] -> N;
        [] -> 0
    end.

table(Kind) ->
    Entries = lists:sort(ets:select(?MODULE, [{{{Kind, '$1'}, '$2'}, [], [{{'$1', '$2'}}]}])),
    lists:join(",", [io_lib:format("\"~ts\":~b", [Key, N]) || {Key, N} <- Entries]).

report() ->
    io:format("{\"event\":\"done\",\"sent\":~b,\"answered\":~b,\"timeouts\":~b,\"failures\":~b,\"received\":~b,"
              "\"retransmitted\":~b,\"codes\":{~s},\"origins\":{~s}}~n",
              [counted(sent), counted(answered), counted(timeouts), counted(failures), counted(received),
               counted(retransmitted), table(code), table(origin)]).

%% Ends with DPR to every peer.
stop() ->
    diameter:stop_service(?SERVICE),
    report(),
    init:stop().

%% === client ===

client() ->
    wait_for_peer(),
    Count = number(count, 1),
    Workers = number(concurrency, 1),
    Parent = self(),
    Pids = [spawn_monitor(fun() -> worker(First, Workers, Count), Parent ! done end) || First <- lists:seq(1, Workers)],
    [receive {'DOWN', Ref, process, Pid, _} -> ok end || {Pid, Ref} <- Pids],
    stop().

wait_for_peer() ->
    case counted(up) of
        0 -> timer:sleep(10), wait_for_peer();
        _ -> ok
    end.

worker(N, _, Count) when N > Count ->
    ok;
worker(N, Step, Count) ->
    count(sent),
    case diameter:call(?SERVICE, test, request(N), [{timeout, number(timeout_ms, 5000)}]) of
        {answer, Code, Origin} ->
            count(answered),
            count({code, integer_to_list(Code)}),
            count({origin, Origin});
        {error, timeout} ->
            count(timeouts);
        {error, Reason} ->
            io:format(standard_error, "request ~b: ~p~n", [N, Reason]),
            count(failures)
    end,
    worker(N + Step, Step, Count).

request(N) ->
    Host = case text(destination_host, "") of
               "" -> #{};
               Name -> #{'Destination-Host' => Name}
           end,
    ['TTR' | Host#{'Session-Id' => io_lib:format("~s;~b;~b", [text(identity), erlang:system_time(), N]),
                   'Auth-Session-State' => 1,
                   'Origin-Host' => text(identity),
                   'Origin-Realm' => text(realm),
                   'Destination-Realm' => text(destination_realm)}].

%% === diameter callbacks ===

peer_up(_Service, _Peer, State) ->
    count(up),
    io:format("{\"event\":\"up\"}~n"),
    State.

peer_down(_Service, _Peer, State) ->
    io:format("{\"event\":\"down\"}~n"),
    State.

pick_peer([], [], _Service, _State) ->
    false;
pick_peer([Peer | _], _, _Service, _State) ->
    {ok, Peer};
pick_peer([], [Peer | _], _Service, _State) ->
    {ok, Peer}.

prepare_request(#diameter_packet{msg = Message}, _Service, _Peer) ->
    {send, Message}.

prepare_retransmit(#diameter_packet{msg = Message}, _Service, _Peer) ->
    {send, Message}.

handle_answer(#diameter_packet{msg = [_ | Answer], errors = []}, _Request, _Service, _Peer) ->
    {answer, first(maps:get('Result-Code', Answer, 0)), iolist_to_binary(maps:get('Origin-Host', Answer))};
handle_answer(#diameter_packet{errors = Errors}, _Request, _Service, _Peer) ->
    {error, {bad_answer, Errors}}.

first([Value | _]) -> Value;
first(Value) -> Value.

handle_error(Reason, _Request, _Service, _Peer) ->
    {error, Reason}.

handle_request(#diameter_packet{msg = ['TTR' | Request], header = Header, errors = []}, _Service, _Peer) ->
    count(received),
    Header#diameter_header.is_retransmitted andalso count(retransmitted),
    count({origin, iolist_to_binary(maps:get('Origin-Host', Request))}),
    timer:sleep(number(delay_ms, 0)),
    case number(silent, 0) of
        1 ->
            discard;
        0 ->
            count(answered),
            Code = number(result_code, 2001),
            {reply, [answer(Code) | #{'Session-Id' => maps:get('Session-Id', Request),
                                      'Result-Code' => Code,
                                      'Origin-Host' => text(origin_host, text(identity)),
                                      'Origin-Realm' => text(realm)}]}
    end;
handle_request(#diameter_packet{errors = Errors}, _Service, _Peer) ->
    io:format(standard_error, "bad request: ~p~n", [Errors]),
    count(failures),
    discard.

answer(Code) when Code div 1000 =:= 3 -> 'answer-message';
answer(_) -> 'TTA'.

%% === SIGTERM ===

init(_) -> {ok, []}.

handle_event(sigterm, State) ->
    spawn(fun stop/0),
    {ok, State};
handle_event(_, State) ->
    {ok, State}.

handle_call(_, State) -> {ok, ok, State}.
