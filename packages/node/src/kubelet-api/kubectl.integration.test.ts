import { testKubectl } from "./test-kubectl.ts";

testKubectl({ minor: "1.36", declares: false });
