#!/usr/bin/perl
# Verifies an export of a refold session as format.md describes it, without a fold. Core modules only.
#
#   verify.pl FILE [--head CHAIN] [--checkpoint FILE [--public-key FILE]]
#   FILE                the export, or - for standard input
#   --head CHAIN        a link that was kept (sha256:...): is it a link of this export?
#   --checkpoint FILE   a signed checkpoint or proof: is the export what it was then, or has it only grown?
#   --public-key FILE   the Ed25519 key (PEM) that must have signed the checkpoint
#
# Exit: 0 verified, 1 something is wrong, 2 misuse or a file that cannot be read or used.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex sha512);
use Getopt::Long qw(:config no_auto_abbrev no_ignore_case);
use Math::BigInt;
use MIME::Base64 qw(encode_base64 decode_base64);
use POSIX ();

use constant { MAX_BYTES => 67_108_864, MAX_DEPTH => 64, MAX_VALUES => 1_000_000, MAX_LEAVES => 100_000,
               MAX_INTEGER => 9007199254740991, INF => 9**9**9 };

# ---- Values --------------------------------------------------------------------------------------------------------
# Everything is bytes: text is checked to be UTF-8 once and never decoded. A parsed value is an array reference, a hash
# reference (its keys unescaped), or the canonical text of a scalar: `1` is a number, `"1"` a string. This is why the
# patterns of strings below contain the quotes.

my ($text, $values);             # what is being parsed, at pos($text), and how many values it had so far
my %UNESCAPE = ('"' => '"', '\\' => '\\', '/' => '/', b => "\b", f => "\f", n => "\n", r => "\r", t => "\t");
my %ESCAPE   = map { chr($_) => sprintf '\\u%04x', $_ } 0 .. 0x1f;
$ESCAPE{ $UNESCAPE{$_} } = "\\$_" for qw(" \\ b f n r t);

# The one JSON value that the bytes are; dies with the reason if they are not one of the value domain.
sub parse {
    ($text, $values) = ($_[0], 0);
    die "not UTF-8\n" unless is_utf8($text);
    my $value = parse_value(0);
    $text =~ /\G[ \t\r\n]*\z/ or die "text after the JSON value\n";
    return $value;
}
# Perl's own UTF-8 also has surrogates and code points above U+10FFFF.
sub is_utf8 {
    my ($copy) = @_;
    return $copy !~ /\xed[\xa0-\xbf]|\xf4[\x90-\xbf]|[\xf5-\xff]/ && utf8::decode($copy);
}

sub parse_value {
    my ($depth) = @_;            # how many containers are around the value
    ++$values <= MAX_VALUES or die "too many values\n";
    $text =~ /\G[ \t\r\n]+/gc;
    return quote(parse_string()) if $text =~ /\G"/gc;
    return $1 if $text =~ /\G(true|false|null)/gc;
    return canonical_number($1) if $text =~ /\G(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/gc;
    die "not JSON\n" unless $text =~ /\G([\[{])/gc;
    my $parse = $1 eq '[' ? \&parse_list : \&parse_object;
    ++$depth <= MAX_DEPTH or die "too deep\n";
    return $parse->($depth);
}
sub parse_list {
    my ($depth) = @_;
    my @list;
    my $more = $text !~ /\G[ \t\r\n]*\]/gc;
    while ($more) {
        push @list, parse_value($depth);
        $text =~ /\G[ \t\r\n]*([,\]])/gc or die "not JSON: list\n";
        $more = $1 eq ',';
    }
    return \@list;
}
sub parse_object {
    my ($depth) = @_;
    my %object;
    my $more = $text !~ /\G[ \t\r\n]*\}/gc;
    while ($more) {
        $text =~ /\G[ \t\r\n]*"/gc or die "not JSON: key\n";
        my $key = parse_string();
        die "a key twice, or __proto__\n" if exists $object{$key} || $key eq '__proto__';
        $text =~ /\G[ \t\r\n]*:/gc or die "not JSON: object\n";
        $object{$key} = parse_value($depth);
        $text =~ /\G[ \t\r\n]*([,}])/gc or die "not JSON: object\n";
        $more = $1 eq ',';
    }
    return \%object;
}
# The string whose opening quote was just read, unescaped, in UTF-8.
sub parse_string {
    my $string = '';
    while ($text !~ /\G"/gc) {
        if ($text =~ /\G([^"\\\x00-\x1f]+)/gc) { $string .= $1; next }
        if ($text =~ m{\G\\(["\\/bfnrt])}gc) { $string .= $UNESCAPE{$1}; next }
        $text =~ /\G\\u([0-9a-fA-F]{4})/gc or die "not JSON: string\n";
        my $code = hex $1;
        if ($code >= 0xd800 && $code <= 0xdfff) {
            $code <= 0xdbff && $text =~ /\G\\u([dD][c-fC-F][0-9a-fA-F]{2})/gc or die "lone surrogate\n";
            $code = 0x10000 + (($code - 0xd800) << 10) + hex($1) - 0xdc00;
        }
        utf8::encode(my $char = chr $code);
        $string .= $char;
    }
    return $string;
}
# The text of a string value.
sub unquote { $text = $_[0]; pos($text) = 1; return parse_string() }
sub quote { return '"' . $_[0] =~ s/(["\\\x00-\x1f])/$ESCAPE{$1}/gr . '"' }

# POSIX::strtod rounds correctly; the conversion built into Perl does not for many digits. But it heeds the locale.
POSIX::setlocale(POSIX::LC_NUMERIC(), 'C');
sub to_double { return scalar POSIX::strtod($_[0]) }
sub canonical_number {
    my ($number) = @_;
    return $number if $number =~ /\A(?:0|-?[1-9][0-9]{0,14})\z/;
    my $sign = $number =~ /\A-/ ? '-' : '';
    my $x    = abs to_double($number);
    die "-0, or beyond the largest double\n" if $x == INF || $x == 0 && $sign;
    return 0 if $x == 0;

    # A normal double has at most one text of up to 15 digits, and 15 digits show it; a subnormal can have several. The
    # nearest text may fail to read back only below a power of two, where the next one up may do so nevertheless.
    my ($digits, $n);
    PRECISION: for my $precision (($x < 2.3e-308 ? 1 : 15) .. 17) {
        my ($nearest, $exponent) = split /e/, sprintf('%.*e', $precision - 1, $x) =~ tr/.//dr;
        my $unit = $exponent - $precision + 1;
        for ($nearest, $nearest + 1) {
            ($digits, $n) = ($_, $unit + length);
            last PRECISION if to_double("${_}e$unit") == $x;
        }
    }
    $digits =~ s/0+\z//;
    my $k = length $digits;
    return $sign . $digits . '0' x ($n - $k)                          if $k <= $n && $n <= 21;
    return $sign . substr($digits, 0, $n) . '.' . substr($digits, $n) if 0 < $n && $n <= 21;
    return $sign . '0.' . '0' x -$n . $digits                         if -6 < $n && $n <= 0;
    return $sign . $digits =~ s/\A.\K(?=.)/./r . sprintf('e%+d', $n - 1);
}

sub canonical {
    my ($value) = @_;
    return $value if !ref $value;
    return '[' . join(',', map { canonical($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(',', map { quote($_) . ':' . canonical($value->{$_}) } sort_keys(keys %$value)) . '}';
}
# By UTF-16 code units. UTF-8 sorts by code point, so only the lead bytes of U+E000 to U+FFFF (ee, ef) and of what is
# beyond (f0 to f4) have to change places.
sub sort_keys {
    my @keys = sort @_;
    return @keys unless grep { /[\xf0-\xf4]/ } @keys;
    my %order = map { $_ => tr/\xee\xef\xf0-\xf4/\xf3\xf4\xee-\xf2/r } @keys;
    return sort { $order{$a} cmp $order{$b} } @keys;
}
# The digest of a value, itself as a value: in quotes.
sub H { return '"sha256:' . sha256_hex(canonical($_[0])) . '"' }

# ---- Shapes --------------------------------------------------------------------------------------------------------
# A type is a function of a value that says whether the value is of it.

sub matches { my ($pattern) = @_; return sub { $_[0] =~ $pattern } }
sub literal { my ($string) = @_; return sub { $_[0] eq qq("$string") } }
sub integer { my ($min, $max) = @_; return sub { $_[0] =~ /\A[0-9]{1,16}\z/ && $_[0] >= $min && $_[0] <= $max } }
sub list_of {
    my ($type, $min, $max) = @_;
    return sub { ref $_[0] eq 'ARRAY' && @{$_[0]} >= $min && @{$_[0]} <= $max && !grep { !$type->($_) } @{$_[0]} };
}
# An object with at least these fields.
sub has {
    my ($fields) = @_;
    return sub {
        my ($v) = @_;
        return ref $v eq 'HASH' && !grep { !exists $v->{$_} || !$fields->{$_}->($v->{$_}) } keys %$fields;
    };
}
# An object with these fields, perhaps some of the optional ones, and no others.
sub object {
    my ($fields, $optional) = @_;
    my ($has, $all) = (has($fields), { %{ $optional // {} }, %$fields });
    return sub { my ($v) = @_; return $has->($v) && !grep { !$all->{$_} || !$all->{$_}->($v->{$_}) } keys %$v };
}
# Base64 has one text for the same bytes: bits that are left over are 0.
sub base64 {
    my ($bytes) = @_;
    return sub {
        my ($string) = $_[0] =~ m{\A"([A-Za-z0-9+/]+=*)"\z} or return 0;
        return length decode_base64($string) == $bytes && encode_base64(decode_base64($string), '') eq $string;
    };
}

my $OBJECT     = has({});
my $DIGEST     = matches(qr/\A"sha256:[0-9a-f]{64}"\z/);
my $COUNT      = integer(0, MAX_INTEGER);
my $TIME       = integer(0, 8640000000000000);
my $ONE        = integer(1, 1);
my $SESSION_ID = matches(qr/\A"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"\z/);

my $PACKAGE = object({ kind => literal('package'), digest => $DIGEST, tool_package => $OBJECT });
my $GENESIS = object({
    kind => literal('genesis'), format => integer(2, 2), state_digest => $DIGEST, chain => $DIGEST,
    genesis => object({
        v => $ONE, session_id => $SESSION_ID, created_at_ms => $TIME, tool_package_digest => $DIGEST,
        config => $OBJECT, consent => $OBJECT, rules => integer(1, MAX_INTEGER),
        since => matches(qr/\A"(?=.{5,32}"\z)[0-9]+\.[0-9]+\.[0-9]+"\z/),
    }, { forked_from => object({ session_id => $SESSION_ID, position => $COUNT, chain => $DIGEST }) }),
});
# Any further field of an event is the business of a fold.
my $EVENT = has({
    v => $ONE, at_ms => $TIME, kind => matches(qr/\A"/),
    event_id => matches(qr/\A"(?!__proto__"\z)(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,128}"\z/),
});
my $COMMIT = object({
    kind => literal('commit'), position => $COUNT, events => list_of($EVENT, 1, 256), state_digest => $DIGEST,
    chain => $DIGEST,
});
my $LEAF   = object({ session_id => $SESSION_ID, version => $COUNT, chain => $DIGEST });
my %SIGNED = (
    public_key => base64(32), signature => base64(64),
    head => object({
        purpose => literal('refold/checkpoint/1'), created_at_ms => $TIME, root => $DIGEST,
        tree_size => integer(0, MAX_LEAVES),
    }),
);
my $CHECKPOINT = object({ %SIGNED, kind => literal('checkpoint'), sessions => list_of($LEAF, 0, MAX_LEAVES) });
my $PROOF      = object({
    %SIGNED, kind => literal('checkpoint_proof'), session => $LEAF, index => $COUNT, path => list_of($DIGEST, 0, 17),
});

# ---- Ed25519 (RFC 8032), points as [X, Y, Z, T] with x = X/Z, y = Y/Z, xy = T/Z ------------------------------------
my $p = Math::BigInt->new(2)**255 - 19;
my $L = Math::BigInt->new(2)**252 + Math::BigInt->new('27742317777372353535851937790883648493');
my $d = Math::BigInt->new(-121665) * Math::BigInt->new(121666)->bmodinv($p) % $p;

sub little_endian { return Math::BigInt->from_hex(unpack 'H*', reverse $_[0]) }

# The point that the 32 bytes are the encoding of, or nothing.
sub decode_point {
    my ($bytes) = @_;
    my $odd = ord(substr $bytes, 31) >> 7;
    substr($bytes, 31) &= "\x7f";
    my $y = little_endian($bytes);
    return if $y >= $p;
    my $x2 = ($y * $y - 1) * ($d * $y * $y + 1)->bmodinv($p) % $p;
    my $x  = $x2->copy->bmodpow(($p + 3) / 8, $p);
    $x = $x * Math::BigInt->new(2)->bmodpow(($p - 1) / 4, $p) % $p if $x * $x % $p != $x2;
    return if $x * $x % $p != $x2 || $x->is_zero && $odd;
    $x = $p - $x if $odd != $x->is_odd;
    return [$x, $y, Math::BigInt->new(1), $x * $y % $p];
}

# The last step of adding and of doubling.
sub compose { my ($E, $F, $G, $H) = @_; return [$E * $F % $p, $G * $H % $p, $F * $G % $p, $E * $H % $p] }
sub add_points {
    my ($X1, $Y1, $Z1, $T1, $X2, $Y2, $Z2, $T2) = map { @$_ } @_;
    my ($A, $B) = (($Y1 - $X1) * ($Y2 - $X2) % $p, ($Y1 + $X1) * ($Y2 + $X2) % $p);
    my ($C, $D) = ($T1 * $T2 % $p * $d * 2 % $p, $Z1 * $Z2 * 2 % $p);
    return compose($B - $A, $D - $C, $D + $C, $B + $A);
}
sub double_point {
    my ($X, $Y, $Z) = @{ $_[0] };
    my ($A, $B) = ($X * $X % $p, $Y * $Y % $p);
    return compose(($X + $Y)**2 - $A - $B, $B - $A - 2 * ($Z * $Z % $p), $B - $A, -$A - $B);
}

sub signature_is_right {
    my ($key, $signature, $message) = @_;
    my ($R_bytes, $S_bytes) = unpack 'a32 a32', $signature;
    my $S = little_endian($S_bytes);
    return 0 if $S >= $L;
    my $R = decode_point($R_bytes) or return 0;
    my $A = decode_point($key)     or return 0;
    my $B = decode_point("\x58" . "\x66" x 31);    # y = 4/5, x even
    my $k = little_endian(sha512($R_bytes . $key . $message)) % $L;

    # S·B - k·A, both at once, bit by bit from the highest; it has to be R.
    my $minus_A = [$p - $A->[0], $A->[1], $A->[2], $p - $A->[3]];
    my %term    = ('10' => $B, '01' => $minus_A, '11' => add_points($B, $minus_A));
    my @bits    = map { [split //, sprintf '%0253s', substr $_->as_bin, 2] } $S, $k;
    my $sum     = [map { Math::BigInt->new($_) } 0, 1, 1, 0];
    for my $i (0 .. 252) {
        $sum = double_point($sum);
        my $term = $term{ $bits[0][$i] . $bits[1][$i] };
        $sum = add_points($sum, $term) if $term;
    }
    my ($X, $Y, $Z) = @$sum;
    return $X == $R->[0] * $Z % $p && $Y == $R->[1] * $Z % $p;
}

# ---- Checkpoints ---------------------------------------------------------------------------------------------------
sub leaf_digest { my ($leaf) = @_; return H(['"refold/checkpoint-leaf/1"', @$leaf{qw(session_id version chain)}]) }
sub node_digest { return H(['"refold/checkpoint-node/1"', @_]) }
sub power_below { my ($n) = @_; my $m = 1; $m *= 2 while 2 * $m < $n; return $m }

sub tree_root {
    my @digests = @_;
    return H(['"refold/checkpoint-tree/1"']) if !@digests;
    return $digests[0] if @digests == 1;
    my @left = splice @digests, 0, power_below(scalar @digests);
    return node_digest(tree_root(@left), tree_root(@digests));
}
# The root that a proof leads to, or nothing.
sub proof_root {
    my ($i, $n, $leaf, @path) = @_;
    return if $i >= $n || ($n == 1) != !@path;
    return $leaf if $n == 1;
    my ($m, $sibling) = (power_below($n), pop @path);
    my ($root) = $i < $m ? proof_root($i, $m, $leaf, @path) : proof_root($i - $m, $n - $m, $leaf, @path);
    return if !$root;
    return $i < $m ? node_digest($root, $sibling) : node_digest($sibling, $root);
}

# Why a checkpoint of the right shape is not right, or nothing.
sub checkpoint_fault {
    my ($checkpoint, $given_key) = @_;
    my $head = $checkpoint->{head};
    my ($key, $signature) = map { decode_base64(substr $_, 1, -1) } @$checkpoint{qw(public_key signature)};
    return 'it was signed with another key' if defined $given_key && $given_key ne $key;
    my ($leaves, $size) = ($checkpoint->{sessions}, $head->{tree_size});
    return 'tree_size is not the number of its sessions' if $leaves && @$leaves != $size;
    my @ids = map { substr $_->{session_id}, 1, -1 } @{ $leaves // [] };    # without the quotes, which would sort, too
    return 'its sessions are not in order' if grep { $ids[$_ - 1] ge $ids[$_] } 1 .. $#ids;
    my ($root) = $leaves ? tree_root(map { leaf_digest($_) } @$leaves)
        : proof_root($checkpoint->{index}, $size, leaf_digest($checkpoint->{session}), @{ $checkpoint->{path} });
    return 'its leaves do not lead to its root' if ($root // '') ne $head->{root};
    return 'its signature is wrong' unless signature_is_right($key, $signature, canonical($head));
    return;
}

sub read_checkpoint {
    my ($file) = @_;
    my $bytes = slurp($file);
    my $value = length $bytes <= MAX_BYTES ? eval { parse($bytes) } // unusable("$file: $@") : '';
    return $CHECKPOINT->($value) || $PROOF->($value) ? $value : unusable("$file: not a checkpoint");
}
sub read_public_key {
    my ($file) = @_;
    my ($base64) = slurp($file) =~ /-----BEGIN PUBLIC KEY-----(.*?)-----END PUBLIC KEY-----/s
        or unusable("$file: no public key");
    $base64 =~ s/\s+//g;
    my ($key) = decode_base64($base64) =~ /\A\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00(.{32})\z/s;
    unusable("$file: not an Ed25519 public key") unless defined $key && base64(44)->(qq("$base64"));
    return $key;
}

# ---- Files and verdicts --------------------------------------------------------------------------------------------
sub unusable { my ($why) = @_; chomp $why; print STDERR "verify.pl: $why\n"; exit 2 }
sub wrong    { my ($what) = @_; chomp $what; print "bad $what\n"; exit 1 }

sub open_file { open my $handle, '<:raw', $_[0] or unusable("$_[0]: $!"); return $handle }

# The bytes of a small file, or a little more of it than any may have.
sub slurp {
    my ($file) = @_;
    read(open_file($file), my $bytes, MAX_BYTES + 1) // unusable("$file: $!");
    return $bytes;
}

# The next line without its line feed; undef at the end. A line that is too long is not read to its end.
my $buffer = '';
sub next_line {
    my ($handle) = @_;
    my $end = 0;
    while (($end = index $buffer, "\n", $end) < 0) {
        $end = length $buffer;
        return $buffer if $end > MAX_BYTES;
        my $got = read($handle, $buffer, 1 << 20, $end) // unusable("cannot read: $!");
        return $end ? substr $buffer, 0, $end, '' : undef if !$got;
    }
    return substr substr($buffer, 0, $end + 1, ''), 0, -1;
}

# ---- A verifier, step by step --------------------------------------------------------------------------------------
GetOptions(\my %option, 'head=s', 'checkpoint=s', 'public-key=s') && @ARGV == 1
    or unusable('usage: verify.pl FILE [--head CHAIN] [--checkpoint FILE [--public-key FILE]]');
my $file = shift;
my ($head, $checkpoint_file, $key_file) = @option{qw(head checkpoint public-key)};
unusable('--head is not a digest') if defined $head && !$DIGEST->(qq("$head"));
unusable('--public-key needs --checkpoint') if defined $key_file && !defined $checkpoint_file;

my $checkpoint;
if (defined $checkpoint_file) {
    $checkpoint = read_checkpoint($checkpoint_file);
    my $fault = checkpoint_fault($checkpoint, defined $key_file ? read_public_key($key_file) : undef);
    wrong("checkpoint: invalid, $fault") if defined $fault;
}

my ($package, $genesis, $n, $link) = (undef, undef, 0, undef);    # $package is its digest, $link the last one
my @leaves = !$checkpoint ? () : $checkpoint->{sessions} ? @{ $checkpoint->{sessions} } : $checkpoint->{session};
my ($leaf, $head_after, $link_at_leaf);

# A call has its arguments in one form. A digest beside arguments is theirs; that of a blob takes the blob.
sub check_arguments {
    my ($call) = @_;
    die "a call has its arguments in more than one form\n"
        if 1 < grep { exists $call->{$_} } qw(arguments arguments_text arguments_ref);
    my $digest = $call->{arguments_digest} // return;
    my $string = $call->{arguments_text} // '';
    my $due = exists $call->{arguments} ? H($call->{arguments})
        : $string =~ /\A"/ ? '"sha256:' . sha256_hex(unquote($string)) . '"' : return;
    die "arguments_digest is not that of the arguments\n" if $digest ne $due;
}

# The record on a line continues the file; dies with the reason if it does not.
sub take {
    my ($record) = @_;
    my $kind = ref $record eq 'HASH' && $record->{kind} // '';
    if ($kind eq '"package"') {
        die "a second package record\n" if defined $package;
        die "not a package record\n" unless $PACKAGE->($record);
        die "the digest is not that of tool_package\n" if $record->{digest} ne H($record->{tool_package});
        $package = $record->{digest};
        return;
    }
    my $bound;    # what the link binds before the state digest
    if ($kind eq '"genesis"') {
        die "a genesis record that is not after the package record\n" if !defined $package || $genesis;
        die "outdated: format 1\n" if ($record->{format} // '') eq '1';
        die "not a genesis record\n" unless $GENESIS->($record);
        die "tool_package_digest is another\n" if $record->{genesis}{tool_package_digest} ne $package;
        $bound = [H($record->{genesis}), []];
    }
    elsif ($kind eq '"commit"') {
        die "a commit record without a genesis record\n" if !$genesis;
        die "not a commit record\n" unless $COMMIT->($record);
        die "position is not that of the stream\n" if $record->{position} != $n;
        $bound = [$link, [map { H($_) } @{ $record->{events} }]];
    }
    else { die "not a record\n" }
    die "chain is not the link\n" if $record->{chain} ne H(['"refold/chain/1"', @$bound, $record->{state_digest}]);

    if ($kind eq '"commit"') {
        for my $event (@{ $record->{events} }) {
            my $calls = $event->{calls};
            check_arguments($_) for grep { ref eq 'HASH' } ref $calls eq 'ARRAY' ? @$calls : (), $event->{instead};
        }
    }

    $genesis //= $record->{genesis};
    $link = $record->{chain};
    $n += @{ $bound->[1] };
    ($leaf) = grep { $_->{session_id} eq $genesis->{session_id} } @leaves if $kind eq '"genesis"';
    $head_after   = $n    if defined $head && !defined $head_after && $link eq qq("$head");
    $link_at_leaf = $link if $leaf && $leaf->{version} == $n;
}

binmode STDIN;
my $handle = $file eq '-' ? \*STDIN : open_file($file);
my $fault;
while (!defined $fault && defined(my $line = next_line($handle))) {
    eval {
        die "line too long\n" if length $line > MAX_BYTES;
        take(parse($line)) if $line !~ /\A[ \t\r\x0b\x0c]*\z/;
        1;
    } or $fault = $@;
}
$fault //= 'no genesis record' if !$genesis;
my $shared = $genesis && $genesis->{forked_from};
$fault //= 'the fork has fewer events than it shares' if $shared && $n < $shared->{position};
wrong('position ' . ($genesis ? $n : -1) . ": $fault") if defined $fault;

print 'session ', substr($genesis->{session_id}, 1, -1), "\nevents $n\nchain ", substr($link, 1, -1), "\n";

wrong('head: it is no link of this file') if defined $head && !defined $head_after;
print "head found after $head_after events\n" if defined $head;

if ($leaf) {
    wrong("checkpoint: truncated, it had $leaf->{version} events") if $n < $leaf->{version};
    wrong("checkpoint: rewritten, its link was $leaf->{chain}") if ($link_at_leaf // '') ne $leaf->{chain};
    print "checkpoint ok: it has not changed, or has only grown\n";
}
elsif ($checkpoint) { print "checkpoint absent: it says nothing about this session\n" }
print "verified: records, events and chain belong together\n";
