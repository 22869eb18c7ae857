/**
 * A program for perl: a socket of netlink, which Node.js has none of. What is written is told to the kernel, and what the kernel says is printed. It ends with whoever
 * started it, and not before: what a terminal or systemd sends to all processes at once is for that one. It waits for nobody who reads too slowly: the kernel then drops packets, and goes on.
 */
export const NETLINK_RELAY = `
$SIG{$_} = "IGNORE" for "INT", "TERM", "HUP";
my ($NETLINK, $RAW, $NETFILTER) = (16, 3, 12);
socket(my $kernel, $NETLINK, $RAW, $NETFILTER) or die "there is no socket of netlink: $!\\n";
my ($SOL_SOCKET, $SO_RCVBUFFORCE, $SOL_NETLINK, $NETLINK_NO_ENOBUFS) = (1, 33, 270, 5);
setsockopt($kernel, $SOL_SOCKET, $SO_RCVBUFFORCE, pack("i", 4 << 20));
setsockopt($kernel, $SOL_NETLINK, $NETLINK_NO_ENOBUFS, pack("i", 1));
bind($kernel, pack("SSLL", $NETLINK, 0, 0, 0)) or die "the socket of netlink has no address: $!\\n";
my $both = "";
vec($both, fileno($_), 1) = 1 for *STDIN, $kernel;
for (;;) {
  select(my $ready = $both, undef, undef, undef);
  if (vec($ready, fileno(STDIN), 1)) {
    sysread(STDIN, my $told, 65536) or exit;
    send($kernel, $told, 0) or die "the kernel is not told: $!\\n";
  }
  if (vec($ready, fileno($kernel), 1) and defined recv($kernel, my $said, 1 << 17, 0)) {
    syswrite(STDOUT, $said) or exit;
  }
}
`;
